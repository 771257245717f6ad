#!/usr/bin/env bash
# Has Aplomb's controller write a metadata log and a snapshot, and Apache Kafka read both: they have to say the same.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
oracle=$("$here/../oracle.sh" oracle-metadata aplomb.metadata.Main)
out=$root/.work/oracle-metadata/ours
rm -rf "$out" && mkdir -p "$out"
(cd "$root" && cargo run -q --locked --profile sim --example metadata_log -- "$out")
$oracle check "$out"
