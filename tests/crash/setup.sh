#!/usr/bin/env bash
# Prepares what the crash tests need beside tests/setup.sh's things: their Java producer and their franz-go client, under .work/crash.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
"$here/../setup.sh"
e2e=$here/../../.work/e2e
work=$here/../../.work/crash
mkdir -p "$work/bin" "$work/classes"

newer() { # newer FOLDER RESULT: whether something in the folder changed since the result was made
  [ ! -e "$2" ] || [ -n "$(find "$1" -type f -newer "$2" -print -quit)" ]
}

if newer "$here/clients/java" "$work/classes/aplomb/crash/Load.class"; then
  javac -d "$work/classes" -cp "$(cat "$e2e/clients-java.cp")" $(find "$here/clients/java" -name '*.java')
fi
command -v go >/dev/null 2>&1 || { echo "tests/crash: no go, in which the readers that check every byte are written: these tests will be skipped" >&2; exit 0; }
if newer "$here/clients/franz-go" "$work/bin/franz-go"; then
  (cd "$here/clients/franz-go" && go build -o "$work/bin/franz-go" .)
fi
