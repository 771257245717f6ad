#!/bin/sh
# Writes the golden files of crates/aplomb-coordinator anew: what the classes of Apache Kafka 4.4.0's coordinators assign, hash,
# match and write. A second run changes nothing. Needs a JDK (17 or newer) and Maven.
set -eu
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
$(../oracle.sh oracle-groups aplomb.groups.Main) "$root/crates/aplomb-coordinator/tests/golden" 1 60 400
