#!/usr/bin/env bash
# Compiles the oracle and prints the command that runs it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$here/../../.work/oracle-kerberos
mkdir -p "$work"
goals=(compile)
[ "$work/classpath" -nt "$here/pom.xml" ] || goals+=(dependency:build-classpath "-Dmdep.outputFile=$work/classpath")
mvn -q -B -f "$here/pom.xml" "${goals[@]}" >&2
echo java -Dorg.slf4j.simpleLogger.defaultLogLevel=error -cp "$work/classes:$(cat "$work/classpath")" aplomb.kerberos.Main
