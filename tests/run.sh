#!/usr/bin/env bash
# Runs all tests, or the steps that are named, one after the other: tests/run.sh [STEP...]. Each step prints a header, its time and its
# result, and writes what it said to .work/logs/STEP.log; the end of the log of a step that failed is shown. Goes on after a failure, and
# fails at the end.
#
# The step "full" is all of them in their long forms, for a night: forty times as many seeds (from APLOMB_SIM_FROM on, by default other ones
# each day), a minute of fuzzing a target, fifty kills in a row, all of the lab's incidents that Apache Kafka is sure to show, and the end-to-end suite
# against Apache Kafka too, which proves the tests themselves.
#
# With APLOMB_TURN, a number, of what takes long a third runs, another one for each number: tests by turns.py, fuzz targets here. So .ci/run does
# for each change.
#
# Needs Rust, a JDK of at least 17 with Maven, and Python 3. Go, Node and kcat are used where they are; as root the missing ones are
# installed from the distribution, otherwise their tests are skipped and say so.
set -uo pipefail
cd "$(dirname "$0")/.."
logs=.work/logs
mkdir -p "$logs"
fuzz_seconds=${APLOMB_FUZZ_SECONDS:-5}

optional_tools() {
  local missing=()
  command -v go >/dev/null || missing+=(golang-go)
  command -v npm >/dev/null || missing+=(nodejs npm)
  command -v kcat >/dev/null || missing+=(kcat)
  if [ "$(id -u)" = 0 ]; then
    command -v krb5kdc >/dev/null || missing+=(krb5-kdc)
    command -v kadmin.local >/dev/null || missing+=(krb5-admin-server)
    command -v kinit >/dev/null || missing+=(krb5-user)
    compgen -G '/usr/lib/*/sasl2/libgssapiv2.so*' >/dev/null || missing+=(libsasl2-modules-gssapi-mit)
  fi
  # What slow disks are formatted with; tests that need root need it.
  [ "$(id -u)" = 0 ] && { command -v mkfs.xfs >/dev/null || missing+=(xfsprogs); }
  [ ${#missing[@]} -eq 0 ] && return 0
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}" && return 0
    # One that is not to be had keeps no other away.
    local each wanted=("${missing[@]}")
    missing=()
    for each in "${wanted[@]}"; do
      DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$each" || missing+=("$each")
    done
    [ ${#missing[@]} -eq 0 ] && return 0
  fi
  echo "left out, and their tests skipped: ${missing[*]}"
}

setup() { optional_tools && tests/setup.sh; }

# As `cargo xtask ci`, with the features of the whole workspace: with those that xtask alone asks for,
# parts of it would be built twice.
ci() { cargo run --quiet --locked --profile sim --bin xtask -- ci "$@"; }

# The two halves of it: what compiles all that the others want to run, and what only looks at the code.
unit() { ci test; }

checks() { ci fmt layers settings tidy deny codegen pages clippy doc; }

# What draws the lab's and the doctor's pages for their suites, which do not ask cargo for it then: others may have its folder.
examples() { cargo build --locked --quiet --profile sim --workspace --example sample_runs --example sample_page; }

release() { cargo build --release --locked --package aplomb; }

# What Apache Kafka itself writes is still what is committed, and it reads what we write.
oracles() {
  local failed=0 script
  for script in tests/oracle*/golden.sh; do
    "$script" || failed=1
  done
  git diff --exit-code --stat -- crates/aplomb-protocol/tests/golden crates/aplomb-log/tests/golden crates/aplomb-broker/tests/golden crates/aplomb-coordinator/tests/golden crates/aplomb-server/tests/golden || failed=1
  for script in tests/oracle*/run.py tests/oracle*/run.sh; do
    [ -e "$script" ] || continue
    "$script" || failed=1
  done
  return $failed
}

suite() { # suite FOLDER: its own run.sh, or pytest over it
  if [ -x "tests/$1/run.sh" ]; then "tests/$1/run.sh"; else .work/e2e/venv/bin/python -m pytest --rootdir "tests/$1" "tests/$1"; fi
}

e2e() { suite e2e; }

# The same tests against Apache Kafka.
e2e-kafka() { APLOMB_E2E_BROKER=kafka suite e2e; }

adoption() { suite adoption; }

crash() { suite crash; }

# Other people's dashboards, and ours, find what they ask for.
observation() { suite observation; }

tools() { suite tools; }

# Slow disks and what is made of them.
lab() { suite lab; }

# The doctor's picture in a browser; how fast it is drawn is for a machine that does nothing else.
picture() { tests/doctor/run.sh tests/doctor -k "test_picture and not stutter"; }

# The doctor beside brokers that wait.
doctor() { tests/doctor/run.sh tests/doctor -k "test_watch or test_tracing or stutter"; }

# Whole brokers with their disks and clients, by seed; a seed that fails prints what replays it.
simulate() {
  cargo run --locked --quiet --profile sim --bin simulate -- \
    --from "${APLOMB_SIM_FROM:-0}" --count "${APLOMB_SIM_SEEDS:-500}" --threads 2
}

fuzz() {
  local targets=() all=(fuzz/fuzz_targets/*.rs) at
  if [ -n "${APLOMB_TURN:-}" ]; then
    for ((at = APLOMB_TURN % 3; at < ${#all[@]}; at += 3)); do targets+=("$(basename "${all[at]}" .rs)"); done
  fi
  fuzz/run.sh "$fuzz_seconds" "${targets[@]}"
}

# Runs a step, and says so. What it has to say at its end is said in one piece: others may be under way.
run() { # run STEP
  local step=$1 began=$SECONDS result=ok spent TIMEFORMAT='%0U+%0S'
  echo "== $step"
  spent=$({ time "$step" >"$logs/$step.log" 2>&1; } 2>&1) || result="FAILED, see $logs/$step.log"
  (
    flock 9
    if [ "$result" != ok ]; then
      echo "$step" >>"$failures"
      tail -n 40 "$logs/$step.log"
    fi
    grep -hE '^(left out|releases: |tests/setup: no |== [a-z]+: )|[0-9]+ (passed|failed|skipped)|[0-9]+ failed; ' "$logs/$step.log" | tail -n 16
    echo "== $step: $result after $((SECONDS - began)) s, $((spent)) s of processors"
  ) 9>"$logs/lock"
}

# The lines of a step's log that name what failed and say why, otherwise its last ones: of a run of which only the end is kept, they are
# all there is.
why() { # why STEP
  {
    grep -aE '^(FAILED|ERROR) |^test .* FAILED$|panicked at|^error(\[|:)|virtual seconds: ' "$logs/$1.log" | tail -n 6
    grep -aE '^E  ' "$logs/$1.log" | tail -n 6
  } | grep . || tail -n 6 "$logs/$1.log"
}

# Steps one after the other. Ctrl-C ends the one that is under way, which cleans up, and there is no next one.
lane() { # lane STEP...
  local step
  trap 'exit 130' INT TERM
  for step in "$@"; do run "$step"; done
}

# This process and its children have a tenth of a processor where others want it.
after_others() { renice -n 10 -p "$BASHPID" >/dev/null; }

# This process, or another, and its children from now on run only when nothing else wants a processor, or nearly so where there is no such class.
behind_all() { # behind_all [PID]
  local pid=${1:-$BASHPID}
  chrt --idle --all-tasks --pid 0 "$pid" 2>/dev/null || renice -n 19 -p "$pid" >/dev/null
}

# All processes of a job that is under way. Some end meanwhile.
put_behind_all() { # put_behind_all JOB
  local pid
  # Twice: those that were started in between.
  for _ in 1 2; do
    for pid in $(pgrep -g "$1"); do behind_all "$pid" 2>/dev/null || true; done
  done
}

known=(setup ci unit checks examples simulate release oracles e2e e2e-kafka tools adoption crash observation picture doctor lab fuzz)
failures=$(mktemp)
trap 'rm -f "$failures"' EXIT
also=()
if [ "$*" = full ]; then
  shift
  export APLOMB_SIM_SEEDS=${APLOMB_SIM_SEEDS:-20000} APLOMB_SIM_FROM=${APLOMB_SIM_FROM:-$(($(date +%s) / 86400 * 20000))}
  export APLOMB_LAB_KAFKA=${APLOMB_LAB_KAFKA:-usual}
  export APLOMB_CRASH_KILLS=${APLOMB_CRASH_KILLS:-50} SIEGE_SEEDS=${SIEGE_SEEDS:-400} APLOMB_STRANGERS=${APLOMB_STRANGERS:-10000}
  fuzz_seconds=${APLOMB_FUZZ_SECONDS:-60} also=(e2e-kafka)
fi
for step in "$@"; do
  [[ " ${known[*]} " == *" $step "* ]] || { echo "there is no step '$step'; there are: ${known[*]}, and full" >&2; exit 2; }
done
if [ $# -gt 0 ]; then
  lane "$@"
else
  # With job control a lane has a process group, and Ctrl-C reaches it: without, it would be ignored there.
  set -m
  trap 'kill -INT -- $(jobs -p | sed "s/^/-/"); wait; exit 130' INT TERM
  # What the suites need comes first; unit tests and checks, which take processors and nothing else, have what is left of them until
  # the suites begin and then beside them: these wait for brokers much of their time. The oracles come late: they share cargo's folder.
  lane setup &
  first=$!
  lane release &
  first+=" $!"
  { after_others && lane unit simulate checks oracles; } &
  code=$!
  wait $first
  # Fuzzing takes what all of them leave.
  { behind_all && lane fuzz; } &
  lane e2e &
  suites=$!
  lane crash observation &
  suites+=" $!"
  lane tools adoption &
  suites+=" $!"
  wait $suites
  # The lab measures, and the doctor says who was short of what: these have what they want, and the others what they leave.
  { lane examples && put_behind_all "$code" && APLOMB_EXAMPLES=built lane "${also[@]}" picture doctor lab; } &
  wait
fi
[ -s "$failures" ] || exit 0
while read -r step; do
  echo "== $step failed"
  why "$step" | cut -c 1-400
done <"$failures"
echo "failed: $(paste -sd ' ' "$failures")"
exit 1
