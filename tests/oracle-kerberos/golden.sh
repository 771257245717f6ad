#!/bin/sh
# Writes the golden file of crates/aplomb-server/tests/local_names.rs anew: which short names Apache Kafka 4.4.0's KerberosShortNamer
# makes. A second run changes nothing. Needs a JDK (17 or newer) and Maven.
set -eu
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
$(../oracle.sh oracle-kerberos aplomb.kerberos.Main) "$root/crates/aplomb-server/tests/golden" 1 90
