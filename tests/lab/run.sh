#!/usr/bin/env bash
# Runs the tests of the lab. Those of slow disks need root, and are skipped for anybody else. Arguments go to pytest.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
"$here/../setup.sh"
exec "$here/../../.work/e2e/venv/bin/python" -m pytest -c "$here/pytest.ini" --rootdir "$here" "${@:-$here}"
