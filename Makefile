# `make run` shows the product, `make test` proves it. Each works alone on a
# fresh Debian 12 machine that has Rust.

.PHONY: run test bench soak fuzz fmt lint doc

# Where the development stack keeps its data, and the port of its API.
STATE ?=
PORT ?= 8440
# How long `make soak` calls tools of a running stack.
SECONDS ?= 600

run:
	@scripts/set-up.sh run
	@scripts/run.sh "$(STATE)" "$(PORT)"

test:
	@scripts/set-up.sh test
	@tests/run.sh

bench:
	@scripts/set-up.sh bench
	@tests/run.sh bench

soak:
	@scripts/soak.sh "$(SECONDS)"
	@GUILDS_RACE_TRIES=100000 tests/run.sh it home_races

fuzz:
	@scripts/set-up.sh test
	@scripts/fuzz.sh "$(SECONDS)"

fmt:
	cargo fmt --all

lint:
	cargo clippy --workspace --all-targets

doc:
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps
