#!/usr/bin/env bash
# Runs the tests of what can be observed. Arguments go to pytest.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
"$here/../setup.sh"
if ! command -v prometheus >/dev/null 2>&1 && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends prometheus) >"$here/../../.work/e2e/prometheus.setup.log" 2>&1 || true
fi
command -v prometheus >/dev/null 2>&1 || echo "tests/setup: no prometheus: dashboards' queries are not tried"
browser() { command -v chromium || command -v chromium-browser || command -v google-chrome || command -v google-chrome-stable; } >/dev/null
if ! browser && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium) >"$here/../../.work/e2e/chromium.setup.log" 2>&1 || true
fi
browser || echo "tests/setup: no chromium: the console is not looked at"
exec "$here/../../.work/e2e/venv/bin/python" -m pytest -c "$here/pytest.ini" --rootdir "$here" "${@:-$here}"
