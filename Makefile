# What one types here. `make help` lists it; each line of a target's comment behind ## is its help.

.DEFAULT_GOAL := help
.PHONY: help run build optimized install image test ci fmt bench clean

# Where `make install` puts things: below $(DESTDIR)$(PREFIX), the unit where systemd looks for it.
PREFIX ?= /usr/local
DESTDIR ?=
UNITDIR ?= $(PREFIX)/lib/systemd/system
# What `make install`, `make image` and `make bench` take.
BINARY ?= target/release/aplomb

help: ## This list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## Start a broker with the defaults: localhost:9092, data in ./aplomb-data
	./target/release/aplomb serve

build: ## Build the release binary, target/release/aplomb
	cargo build --release --locked --package aplomb

optimized: ## Build target/optimized/aplomb, the same laid out by what a broker spends its time with: for production, in a quarter of an hour
	packaging/optimize.sh

install: ## Install a binary that was built, its manual, completions and systemd unit (PREFIX=/usr/local DESTDIR= BINARY=target/release/aplomb)
	@test -x "$(BINARY)" || { echo "there is no $(BINARY): run make build or make optimized first" >&2; exit 1; }
	packaging/install.sh "$(BINARY)" "$(DESTDIR)" "$(PREFIX)" "$(UNITDIR)"

image: ## A container image of a binary that was built, with buildah (NAME=aplomb ARCHIVE=FILE for docker load, BINARY=target/release/aplomb)
	packaging/image.sh "$(BINARY)" "$(or $(NAME),aplomb)" "$(ARCHIVE)"

test: ## Everything: checks, unit tests, oracles, end-to-end and crash suites, a short fuzz run (STEPS="ci e2e" for some of it, STEPS=full for its long forms)
	@tests/run.sh $(STEPS)

ci: ## Formatting, lints, layers, settings, tidiness, dependencies, generated code, docs, unit tests
	cargo xtask ci

fmt: ## Format the code
	cargo fmt --all

bench: build ## Aplomb beside Apache Kafka on this machine, for half an hour (ARGS=--quick for two minutes, BINARY=target/optimized/aplomb)
	tests/setup.sh
	APLOMB_BIN=$(abspath $(BINARY)) bench/run.py $(ARGS)

clean: ## Remove what was built and what tests left
	cargo clean
	rm -rf .work fuzz/target
