#!/usr/bin/env bash
# Runs the tests of our own tools, against Aplomb's and Apache Kafka's brokers and the directories that they leave. Arguments go to pytest.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
"$here/../setup.sh"
exec "$here/../../.work/e2e/venv/bin/python" -m pytest -c "$here/pytest.ini" --rootdir "$here" "${@:-$here}"
