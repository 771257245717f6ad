#!/usr/bin/env bash
# Fuzzes decoders: fuzz/run.sh SECONDS [TARGET...], without targets all of them, SECONDS each.
#
# Runs on the stable toolchain: libFuzzer is linked in by libfuzzer-sys, and the compiler is asked for its
# instrumentation directly. APLOMB_FUZZ_SANITIZER=none leaves out the address sanitizer. Prints a line per
# target; what a target stumbled over is kept in fuzz/artifacts/TARGET, and given to the target as an
# argument it stumbles again. Exits with 1 if one did.
set -euo pipefail
cd "$(dirname "$0")"

if [[ $# -lt 1 || ! $1 =~ ^[0-9]+$ ]]; then
    echo "usage: fuzz/run.sh SECONDS [TARGET...]" >&2
    exit 2
fi
seconds=$1
shift
targets=("$@")
if [[ ${#targets[@]} -eq 0 ]]; then
    for source in fuzz_targets/*.rs; do
        targets+=("$(basename "$source" .rs)")
    done
fi

sanitizer=${APLOMB_FUZZ_SANITIZER:-address}
host=$(rustc -vV | sed -n 's/^host: //p')
flags="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
flags+=" -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table"
flags+=" -Cllvm-args=-sanitizer-coverage-trace-compares"
if [[ $sanitizer != none ]]; then
    flags+=" -Zsanitizer=$sanitizer"
fi
bins=(--bin seeds)
for target in "${targets[@]}"; do
    bins+=(--bin "$target")
done
# With --target, build scripts are built without the flags.
RUSTC_BOOTSTRAP=1 RUSTFLAGS="$flags" cargo build -q --release --target "$host" --target-dir target "${bins[@]}"
"target/$host/release/seeds" ../crates/aplomb-model/tests/golden/java-4.4.0.tsv ../crates/aplomb-server/tests/golden/stores corpus/seeds

passed=$(mktemp)
trap 'rm -f "$passed"' EXIT

fuzz() { # fuzz TARGET: prints its line, and notes that it did not stumble
    local target=$1 malloc_mb log
    # Memory in one piece: zstd's largest window, which a frame may announce; the rest has no excuse.
    case $target in
        batches | validate_produced | decompress_zstd) malloc_mb=160 ;;
        *) malloc_mb=24 ;;
    esac
    mkdir -p "corpus/$target" "corpus/seeds/$target" "artifacts/$target"
    log="artifacts/$target/log"
    if "target/$host/release/$target" -max_total_time="$seconds" -rss_limit_mb=1024 -malloc_limit_mb="$malloc_mb" \
        -timeout=10 -max_len=65536 -print_final_stats=1 -artifact_prefix="artifacts/$target/" \
        "corpus/$target" "corpus/seeds/$target" >"$log" 2>&1; then
        local runs cover
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
        cover=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -1)
        echo "$target: ok, $runs runs, $cover edges"
        echo "$target" >>"$passed"
    else
        echo "$target: FAILED, see fuzz/$log"
        grep -m 3 -E "panicked|ERROR|SUMMARY|Test unit written" "$log" || tail -3 "$log"
    fi
}

# As many at a time as there are processors.
for target in "${targets[@]}"; do
    while [[ $(jobs -rp | wc -l) -ge $(nproc) ]]; do
        wait -n || true
    done
    fuzz "$target" &
done
wait
[[ $(wc -l <"$passed") -eq ${#targets[@]} ]]
