#!/usr/bin/env bash
# Has Apache Kafka's Cleaner and ours compact the same logs, pass by pass. APLOMB_ORACLE_SEED: other ones.
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
work=$root/.work/oracle-formats
$(../oracle.sh oracle-formats aplomb.formats.Cleaning) "$work/cleaned" "${APLOMB_ORACLE_SEED:-$(date +%s)}" 300
cd "$root"
APLOMB_CLEANED_BY_KAFKA=$work/cleaned cargo test -q --locked --profile sim --workspace --test oracle_compaction
