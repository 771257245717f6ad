#!/usr/bin/env bash
# The kill tests with more kills, again and again with other moments: by_hand/kills.sh [KILLS] [TIMES]. Prints a line for each time.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
kills=${1:-500}
times=${2:-3}
mkdir -p "$here/../../../.work/crash"
printf '%-6s %-12s %-8s %s\n' run seed seconds result
for run in $(seq "$times"); do
  seed=$RANDOM$RANDOM
  began=$SECONDS
  log=$here/../../../.work/crash/kills-$seed.log
  APLOMB_CRASH_KILLS=$kills APLOMB_CRASH_GROUP_KILLS=$kills APLOMB_CRASH_SEED=$seed "$here/../run.sh" "$here"/../test_kill9*.py >"$log" 2>&1
  printf '%-6s %-12s %-8s %s\n' "$run" "$seed" "$((SECONDS - began))" "$(tail -n 1 "$log" | tr -d =) $log"
done
