#!/usr/bin/env bash
# Looks at the doctor's picture in a real browser. Arguments go to pytest.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
# Of what the other suites need, this one needs Python alone.
python=$root/.work/e2e/venv/bin/python
"$python" -c 'import pytest, pytest_timeout' 2>/dev/null || "$here/../setup.sh"
browser() { command -v chromium || command -v chromium-browser || command -v google-chrome || command -v google-chrome-stable; } >/dev/null
if ! browser && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium) >"$root/.work/e2e/chromium.setup.log" 2>&1 || true
fi
browser || echo "tests/setup: no chromium: the doctor's picture is not looked at"
# The features of the whole workspace: with the doctor's alone what it needs is built once more.
[ -n "${APLOMB_EXAMPLES:-}" ] || (cd "$root" && cargo build --locked --quiet --profile sim --workspace --example sample_page)
exec "$python" -m pytest -c "$here/pytest.ini" --rootdir "$here" "${@:-$here}"
