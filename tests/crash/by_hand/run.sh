#!/usr/bin/env bash
# Runs a script of this folder with what the crash tests have: by_hand/run.sh start_and_stop.py --partitions 1000 --gigabytes 20
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tests=$(cd "$here/../.." && pwd)
"$here/../setup.sh"
ulimit -n "$(ulimit -Hn)"
script=$1
shift
PYTHONPATH=$here/..:$tests/e2e:$tests/clients/python exec "$tests/../.work/e2e/venv/bin/python" "$here/$script" "$@"
