#!/usr/bin/env bash
# Ten minutes (or the seconds given) of fuzzing for each decoder, and a line for each crash that was found.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
fuzz=$here/../../../fuzz
"$fuzz/run.sh" "${1:-600}"
result=$?
printf '%-24s %s\n' target crashes
for target in "$fuzz"/fuzz_targets/*.rs; do
  name=$(basename "$target" .rs)
  printf '%-24s %s\n' "$name" "$(find "$fuzz/artifacts/$name" -type f 2>/dev/null | wc -l)"
done
exit $result
