#!/bin/sh
# Writes the golden file of crates/aplomb-broker/tests/authorizer.rs anew: what Apache Kafka 4.4.0's StandardAuthorizer decides. A
# second run changes nothing. Needs a JDK (17 or newer) and Maven.
set -eu
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
$(../oracle.sh oracle-authorizer aplomb.authorizer.Main) "$root/crates/aplomb-broker/tests/golden" 1 40
