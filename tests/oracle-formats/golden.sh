#!/bin/sh
# Writes the golden files of crates/aplomb-log anew: files and decisions of Apache Kafka 4.4.0's own storage classes.
# A second run changes nothing. Needs a JDK (17 or newer) and Maven.
set -eu
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
work="$root/.work/oracle-formats"
mvn -q -B compile dependency:copy-dependencies -DoutputDirectory="$work/jars"
java -cp "$work/classes:$work/jars/*" aplomb.formats.Golden "$root/crates/aplomb-log/tests/golden"
java -cp "$work/classes:$work/jars/*" aplomb.formats.Cleaning "$root/crates/aplomb-log/tests/golden/cleaned" 1 2
