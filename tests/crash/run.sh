#!/usr/bin/env bash
# Runs the crash tests: against Aplomb, or with APLOMB_E2E_BROKER=kafka against Apache Kafka. Arguments go to pytest.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
"$here/setup.sh"
exec "$here/../../.work/e2e/venv/bin/python" -m pytest -c "$here/pytest.ini" --rootdir "$here" "${@:-$here}"
