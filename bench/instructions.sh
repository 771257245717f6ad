#!/usr/bin/env bash
# How many instructions a heartbeat of a consumer group takes, of all threads of the broker, by valgrind's callgrind:
# bench/instructions.sh [BROKER], which is built for it:
#
#     cargo build --release --package aplomb --features valgrind --target-dir target/valgrind
#
# Thirty groups of ten members in the consumer protocol send one every half second for ten seconds; hardly anything is committed. A count
# and no time: the machine may do something else meanwhile. The file that is named at the end has all functions, with what they and those
# below them took. Needs valgrind; takes a minute.
set -euo pipefail
broker=${1:-target/valgrind/release/aplomb}
folder=$(mktemp -d)
sed 's/^ *//' >"$folder/broker.properties" <<P
  node.id=1
  process.roles=broker,controller
  controller.quorum.voters=1@localhost:19493
  listeners=PLAINTEXT://127.0.0.1:19492,CONTROLLER://127.0.0.1:19493
  controller.listener.names=CONTROLLER
  log.dirs=$folder/log
  group.consumer.min.heartbeat.interval.ms=500
  group.consumer.heartbeat.interval.ms=500
P
"$broker" storage format -t MkU3OEVBNTcwNTJENDM2Qg --config "$folder/broker.properties" >/dev/null
valgrind --tool=callgrind --callgrind-out-file="$folder/counted" "$broker" serve "$folder/broker.properties" >"$folder/broker.log" 2>&1 &
served=$!
trap 'kill $served 2>/dev/null || true' EXIT
for _ in $(seq 120); do
  (: >/dev/tcp/127.0.0.1/19492) 2>/dev/null && break
  sleep 1
done
"$broker" bench group -b 127.0.0.1:19492 -t counted --protocol consumer --groups 30 --members 10 --partitions 10 --warm-up 10s --duration 35s \
  --heartbeat-interval 500ms --commit-interval 60s --patience 200s >"$folder/group.log" 2>&1 &
held=$!
sleep 30
callgrind_control -z "$served" >/dev/null
sleep 10
callgrind_control -d "$served" >/dev/null
wait $held
callgrind_annotate --inclusive=yes --tree=caller --auto=no --threshold=100 "$folder/counted.1" >"$folder/calls.txt"
requests=$(sed -n 's/.*< .*Core>::on_request (\([0-9,]*\)x).*/\1/p' "$folder/calls.txt" | head -1 | tr -d ,)
all=$(sed -n 's/^ *\([0-9,]*\) .*PROGRAM TOTALS/\1/p' "$folder/calls.txt" | head -1 | tr -d ,)
echo "$requests requests, $((all / requests)) instructions each: $folder/calls.txt"
