#!/usr/bin/env bash
# Builds the workspace and runs every test: unit tests, doc tests, and the
# end-to-end tests in namespaces of their own.
#
#   tests/run.sh                 everything
#   tests/run.sh it [FILTER]...  the end-to-end tests alone, or those whose name has FILTER in it
#   tests/run.sh bench           the table of measurements, as a release build
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

host=$(rustc -vV | sed -n 's/^host: //p')
runner=CARGO_TARGET_$(tr 'a-z-' 'A-Z_' <<<"$host")_RUNNER
export "$runner=bash $PWD/tests/runner.sh"
# The tests wait more than they compute: more of them than there are cores.
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-$(($(nproc) * 2))}

if [ "${1:-}" = bench ]; then
  cargo build --workspace --all-targets --release
  exec cargo bench --workspace --bench table
fi

# All targets at once: programs, libraries and tests then share one set of features,
# and the steps below build nothing again.
cargo build --workspace --all-targets
case ${1:-} in
  it)
    shift
    # Found in what cargo says, not by `-p tests`: one package alone has other features
    # and would be built again.
    executable=$(cargo test --workspace --test it --no-run --message-format=json |
      sed -n "s#.*\"manifest_path\":\"$PWD/tests/Cargo.toml\".*\"executable\":\"\([^\"]*\)\".*#\1#p")
    CARGO_PKG_NAME=tests exec bash tests/runner.sh "$executable" "$@"
    ;;
  "")
    exec cargo test --workspace --no-fail-fast
    ;;
  *)
    echo "tests/run.sh: unknown argument $1; allowed are it and bench" >&2
    exit 64
    ;;
esac
