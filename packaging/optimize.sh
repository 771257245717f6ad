#!/usr/bin/env bash
# Builds target/optimized/aplomb: the release binary, laid out for what a broker spends its time with (profile-guided optimization). One that
# counts how often it comes by is built first and serves the loads below, for two minutes; then all is compiled once more, with its counts.
# Takes a quarter of an hour on two processors. Needs rustup besides what `make build` needs, for its component llvm-tools.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$PWD/target/optimized
host=$(rustc -vV | sed -n 's/^host: //p')
tools=$(rustc --print sysroot)/lib/rustlib/$host/bin
[ -x "$tools/llvm-profdata" ] || rustup component add llvm-tools
rm -rf "$work/counts" "$work/broker"
mkdir -p "$work/counts" "$work/broker"

build() { # build FOLDER FLAG: what is built for this machine alone, build scripts, goes without the flag
  RUSTFLAGS=$2 cargo build --release --locked --package aplomb --target "$host" --target-dir "$work/$1"
}

build counting "-Cprofile-generate=$work/counts"
counting=$work/counting/$host/release/aplomb
port=$((20000 + RANDOM % 10000))
at=127.0.0.1:$port
cat >"$work/broker/server.properties" <<P
node.id=1
process.roles=broker,controller
controller.quorum.voters=1@localhost:$((port + 1))
listeners=PLAINTEXT://$at,CONTROLLER://127.0.0.1:$((port + 1))
controller.listener.names=CONTROLLER
log.dirs=$work/broker/log
group.consumer.min.heartbeat.interval.ms=200
group.consumer.heartbeat.interval.ms=200
P
# Counts of these are of no use.
aside() { LLVM_PROFILE_FILE=/dev/null "$counting" "$@"; }
"$counting" serve "$work/broker/server.properties" >"$work/broker/log.txt" 2>&1 &
broker=$!
trap 'kill "$broker" 2>/dev/null || true' EXIT
for _ in $(seq 300); do
  grep -q 'ready at' "$work/broker/log.txt" && break
  kill -0 "$broker" || { cat "$work/broker/log.txt"; exit 1; }
  sleep 0.1
done

load() { # load WHAT [OPTION...]
  echo "counting: bench $*" >&2
  aside bench "$@" -b "$at" --warm-up 1s >/dev/null
}

# Each of what brokers do most: heartbeats and commits, small requests, full batches, compressed ones, consumers at the end and from the start.
for protocol in classic consumer; do
  load group --protocol "$protocol" -t grouped --prefix "$protocol" --groups 40 --members 10 --partitions 10 --duration 25s --heartbeat-interval 200ms --commit-interval 300ms
done
load produce -t small --rate 5000 --producers 6 --linger 1ms --duration 8s
load produce -t full --rate 60000 --producers 2 --duration 5s
for compression in lz4 zstd; do load produce -t "$compression" --rate 20000 --compression "$compression" --duration 3s; done
load end-to-end -t followed --rate 5000 --producers 2 --consumers 3 --duration 8s
load consume -t full --duration 5s

kill "$broker"
wait "$broker"
trap - EXIT
"$tools/llvm-profdata" merge -o "$work/profile" "$work"/counts/*.profraw
build using "-Cprofile-use=$work/profile"
cp "$work/using/$host/release/aplomb" "$work/aplomb"
rm -rf "$work/broker"
echo "$work/aplomb"
