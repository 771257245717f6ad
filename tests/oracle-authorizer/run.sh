#!/usr/bin/env bash
# Has Apache Kafka's StandardAuthorizer and ours decide the same, 100,000 times over. APLOMB_ORACLE_SEED: other cases.
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
theirs=$root/.work/oracle-authorizer/theirs
mkdir -p "$theirs"
$(../oracle.sh oracle-authorizer aplomb.authorizer.Main) "$theirs" "${APLOMB_ORACLE_SEED:-$(date +%s)}" 2600
cd "$root"
APLOMB_AUTHORIZER_ORACLE=$theirs cargo test -q --locked --profile sim --workspace --test authorizer
