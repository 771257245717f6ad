#!/usr/bin/env bash
# Runs the end-to-end suite: against Aplomb, or with APLOMB_E2E_BROKER=kafka against Apache Kafka. Arguments go to pytest.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
"$here/../setup.sh"
# Modules have brokers of their own and wait most of their time: several at once. Not more, or clients' JVMs are short of processors.
[ $# -gt 0 ] || set -- --numprocesses "${APLOMB_E2E_WORKERS:-3}" --dist loadfile "$here"
exec "$here/../../.work/e2e/venv/bin/python" -m pytest -c "$here/pytest.ini" --rootdir "$here" "$@"
