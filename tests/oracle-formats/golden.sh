#!/bin/sh
# Writes the golden files of crates/aplomb-log anew: files and decisions of Apache Kafka 4.4.0's own storage classes.
# A second run changes nothing. Needs a JDK (17 or newer) and Maven.
set -eu
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
$(../oracle.sh oracle-formats aplomb.formats.Golden) "$root/crates/aplomb-log/tests/golden"
$(../oracle.sh oracle-formats aplomb.formats.Cleaning) "$root/crates/aplomb-log/tests/golden/cleaned" 1 2
