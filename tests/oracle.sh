#!/usr/bin/env bash
# Compiles an oracle, unless nothing of it has changed since, and prints the command that runs its
# main class: tests/oracle.sh FOLDER CLASS. Needs a JDK (17 or newer) and Maven.
set -euo pipefail
tests=$(cd "$(dirname "$0")" && pwd)
source=$tests/$1 work=$(cd "$tests/.." && pwd)/.work/$1
# Programs of seconds: the compiler for those that run long would take more than it gives.
quick="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
mkdir -p "$work"
if [ ! -e "$work/built" ] || [ -n "$(find "$source" -newer "$work/built" -print -quit)" ]; then
  # What is changed while Maven is at work is newer than this.
  touch "$work/begun"
  MAVEN_OPTS=${MAVEN_OPTS:-$quick} mvn -q -B -f "$source/pom.xml" compile dependency:build-classpath "-Dmdep.outputFile=$work/classpath" >&2
  mv "$work/begun" "$work/built"
fi
echo java $quick -Dorg.slf4j.simpleLogger.defaultLogLevel=error -cp "$work/classes:$(cat "$work/classpath")" "$2"
