#!/usr/bin/env bash
# Has Apache Kafka's group coordinator and ours do the same, many times over: assignments of random groups that change step by step,
# hashes of random topics, random patterns, the records of transactional ids. APLOMB_ORACLE_SEED: other ones.
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
theirs=$root/.work/oracle-groups/theirs
mkdir -p "$theirs"
$(../oracle.sh oracle-groups aplomb.groups.Main) "$theirs" "${APLOMB_ORACLE_SEED:-$(date +%s)}" 5000 20000
cd "$root"
APLOMB_GROUPS_ORACLE=$theirs cargo test -q --locked --profile sim --workspace --test oracle --test oracle_transactions
