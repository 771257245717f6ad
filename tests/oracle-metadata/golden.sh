#!/usr/bin/env bash
# Has Apache Kafka write the metadata log that crates/aplomb-broker's tests read. The same bytes every time.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
oracle=$("$here/../oracle.sh" oracle-metadata aplomb.metadata.Main)
$oracle golden "$here/../../crates/aplomb-broker/tests/golden"
