#!/usr/bin/env bash
# Has Apache Kafka's KerberosShortNamer and ours make the same short names of tens of thousands of principals. APLOMB_ORACLE_SEED: other cases.
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
theirs=$root/.work/oracle-kerberos/theirs
mkdir -p "$theirs"
$(../oracle.sh oracle-kerberos aplomb.kerberos.Main) "$theirs" "${APLOMB_ORACLE_SEED:-$(date +%s)}" 6000
cd "$root"
APLOMB_KERBEROS_ORACLE=$theirs cargo test -q --locked --profile sim --workspace --test local_names
