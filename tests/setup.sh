#!/usr/bin/env bash
# Prepares what the end-to-end suite needs, under .work/e2e (not committed): the class paths of Apache Kafka's broker and tools, the
# Java, Go and Node clients, and a Python environment with pytest. Does only what changed inputs ask for, and says little.
# A client whose toolchain is missing is left out here; its tests then say so and are skipped.
set -euo pipefail
tests=$(cd "$(dirname "$0")" && pwd)
work=$(cd "$tests/.." && pwd)/.work/e2e
mkdir -p "$work/bin" "$work/stamps"

say() { printf 'tests/setup: %s\n' "$*" >&2; }

# once NAME INPUT... -- COMMAND...: runs COMMAND unless it has succeeded before with the same inputs (files or folders).
once() {
  local name=$1 inputs=() sum
  shift
  while [ "$1" != -- ]; do inputs+=("$1"); shift; done
  shift
  sum=$(find "${inputs[@]}" -type f -not -path '*/node_modules/*' -not -path '*/__pycache__/*' -print0 | sort -z | xargs -0 sha256sum | sha256sum)
  [ "$(cat "$work/stamps/$name" 2>/dev/null)" = "$sum" ] && return 0
  say "$name"
  if ! "$@" >"$work/$name.setup.log" 2>&1; then
    tail -n 30 "$work/$name.setup.log" >&2
    say "$name failed; the whole output is in $work/$name.setup.log"
    return 1
  fi
  echo "$sum" >"$work/stamps/$name"
}

# Maven is done within seconds: the compiler for those that run long would take more than it gives.
export MAVEN_OPTS=${MAVEN_OPTS:--XX:TieredStopAtLevel=1 -XX:+UseSerialGC}

maven() { # maven PROJECT NAME: compiles, if there is something to compile, and writes the class path to NAME.cp
  (cd "$1" && mvn -q -B compile dependency:build-classpath "-Dmdep.outputFile=$work/$2.cp")
}

python_environment() {
  [ -x "$work/venv/bin/python" ] || python3 -m venv "$work/venv"
  "$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$tests/requirements.txt"
}

# What people do first is tried with each client's newest release, as somebody who begins today gets it: asked for once a day, and
# without the package index the one of last time does.
newest() { # newest NAME NEEDS COMMAND INPUT...
  local name=$1 needs=$2 command=$3
  shift 3
  have "$needs" || { say "no $needs: $name is left out"; return 0; }
  once "$name" "$work/today" "$@" -- "$command" || say "the newest release could not be had: $name is left out, or the one of last time"
}

first=$tests/clients/first

newest_python() {
  [ -x "$work/newest/bin/python" ] || python3 -m venv "$work/newest"
  "$work/newest/bin/python" -m pip install --quiet --disable-pip-version-check --upgrade --requirement "$first/requirements.txt"
}

newest_go() {
  rm -rf "$work/first-go" && cp -r "$first/go" "$work/first-go" && cd "$work/first-go" &&
    go get github.com/IBM/sarama@latest github.com/twmb/franz-go@latest github.com/twmb/franz-go/pkg/kadm@latest github.com/segmentio/kafka-go@latest &&
    go build -o "$work/first-bin/" ./cmd/...
}

# Without a tag it is the newest that runs on this machine's Node.
newest_node() {
  mkdir -p "$work/first-node" && npm install --prefix "$work/first-node" --no-save --no-audit --no-fund --loglevel=error kafkajs @platformatic/kafka
}

newest_rust() {
  mkdir -p "$work/first-rust" && cp -r "$first/rust/." "$work/first-rust" && cd "$work/first-rust" && cargo update --quiet &&
    RSKAFKA_RELEASE=$(sed -n '/name = "rskafka"/{n;s/.*"\(.*\)"/\1/p}' Cargo.lock) cargo build --quiet --target-dir "$work/first-rust/target"
}

newest_java() { maven "$first/java" first-java; }

go_clients() { (cd "$tests/clients/go" && go build -o "$work/bin/" ./cmd/...); }

node_client() { (cd "$tests/clients/kafkajs" && npm ci --loglevel=error); }

kcat_package() { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq kcat; }

have() { command -v "$1" >/dev/null 2>&1; }

have mvn || { say "Maven and a JDK of at least 17 are needed: the broker and the tools of Apache Kafka are Java"; exit 1; }
once oracle "$tests/e2e/java/oracle" -- maven "$tests/e2e/java/oracle" oracle
once tools "$tests/e2e/java/tools" -- maven "$tests/e2e/java/tools" tools
once clients-java "$tests/clients/java" -- maven "$tests/clients/java" clients-java
once streams "$tests/clients/streams" -- maven "$tests/clients/streams" streams
once eos "$tests/e2e/java/eos" -- maven "$tests/e2e/java/eos" eos
once connect "$tests/e2e/java/connect" -- maven "$tests/e2e/java/connect" connect
once python "$tests/requirements.txt" -- python_environment
date -u +%F >"$work/today"
newest first-python python3 newest_python "$first/requirements.txt"
newest first-java mvn newest_java "$first/java"
newest first-go go newest_go "$first/go"
newest first-node npm newest_node "$first/node"
newest first-rust cargo newest_rust "$first/rust"
if have go; then once go "$tests/clients/go" -- go_clients; else say "no go: franz-go and Sarama are left out"; fi
if have npm; then
  [ -d "$tests/clients/kafkajs/node_modules" ] || rm -f "$work/stamps/node"
  once node "$tests/clients/kafkajs/package.json" "$tests/clients/kafkajs/package-lock.json" "$tests/clients/kafkajs/.npmrc" -- node_client
else
  say "no npm: KafkaJS is left out"
fi
if ! have kcat; then
  if [ "$(id -u)" = 0 ] && have apt-get; then once kcat "$tests/setup.sh" -- kcat_package || true; fi
  have kcat || say "no kcat: it is left out"
fi
