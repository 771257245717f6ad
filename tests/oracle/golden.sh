#!/bin/sh
# Writes the golden files of crates/aplomb-protocol anew: what Apache Kafka 4.4.0 itself makes of every message that
# schema/selection lists. A second run changes nothing. Needs a JDK (17 or newer) and Maven.
set -eu
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
$(../oracle.sh oracle aplomb.oracle.Golden) "$root/crates/aplomb-protocol/schema/selection" "$root/crates/aplomb-protocol/tests/golden"
