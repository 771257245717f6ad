# What one types here. `make help` lists it; each line of a target's comment behind ## is its help.

.DEFAULT_GOAL := help
.PHONY: help run build install image test ci fmt bench clean

# Where `make install` puts things: below $(DESTDIR)$(PREFIX), the unit where systemd looks for it.
PREFIX ?= /usr/local
DESTDIR ?=
UNITDIR ?= $(PREFIX)/lib/systemd/system

help: ## This list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## Start a broker with the defaults: localhost:9092, data in ./aplomb-data
	./target/release/aplomb serve

build: ## Build the release binary, target/release/aplomb
	cargo build --release --locked --package aplomb

install: ## Install the binary that `make build` made, its manual, completions and systemd unit (PREFIX=/usr/local DESTDIR=)
	@test -x target/release/aplomb || { echo "there is no target/release/aplomb: run make build first" >&2; exit 1; }
	packaging/install.sh "$(DESTDIR)" "$(PREFIX)" "$(UNITDIR)"

image: ## A container image of the binary that `make build` made, with buildah (NAME=aplomb ARCHIVE=FILE for docker load)
	packaging/image.sh "$(or $(NAME),aplomb)" "$(ARCHIVE)"

test: ## Everything: checks, unit tests, oracles, end-to-end and crash suites, a short fuzz run (STEPS="ci e2e" for some of it, STEPS=full for its long forms)
	@tests/run.sh $(STEPS)

ci: ## Formatting, lints, layers, settings, tidiness, dependencies, generated code, docs, unit tests
	cargo xtask ci

fmt: ## Format the code
	cargo fmt --all

bench: build ## Aplomb beside Apache Kafka on this machine, for half an hour (ARGS=--quick for two minutes)
	tests/setup.sh
	bench/run.py $(ARGS)

clean: ## Remove what was built and what tests left
	cargo clean
	rm -rf .work fuzz/target
