#!/usr/bin/env bash
# Runs the tests of the lab. Those of slow disks need root, and are skipped without it. Arguments go to pytest.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
"$here/../setup.sh"
# Here and not in the first test that runs it: how long a build takes says nothing about the test.
[ -n "${APLOMB_EXAMPLES:-}" ] || (cd "$here/../.." && cargo build --locked --quiet --profile sim --workspace --example sample_runs)
exec "$here/../../.work/e2e/venv/bin/python" -m pytest -c "$here/pytest.ini" --rootdir "$here" "${@:-$here}"
