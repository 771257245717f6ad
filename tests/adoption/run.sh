#!/usr/bin/env bash
# Runs the adoption tests: directories of Apache Kafka 4.4.0 and 4.0.1, taken over by Aplomb and handed back. Arguments go to pytest.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$here/../../.work/e2e
"$here/../setup.sh"
pom=$here/java/oracle-4.0/pom.xml
if [ "$pom" -nt "$work/oracle-4.0.cp" ]; then
  (cd "$(dirname "$pom")" && mvn -q -B dependency:build-classpath "-Dmdep.outputFile=$work/oracle-4.0.cp")
fi
exec "$work/venv/bin/python" -m pytest -c "$here/pytest.ini" --rootdir "$here" "${@:-$here}"
