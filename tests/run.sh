#!/usr/bin/env bash
# Builds the workspace and runs every test: unit tests, doc tests, and the
# end-to-end tests in namespaces of their own.
#
#   tests/run.sh                 everything
#   tests/run.sh it [FILTER]...  the end-to-end tests alone, or those whose name has FILTER in it
#   tests/run.sh bench [PART]... the table of measurements, as a release build, or parts of it
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

host=$(rustc -vV | sed -n 's/^host: //p')
runner=CARGO_TARGET_$(tr 'a-z-' 'A-Z_' <<<"$host")_RUNNER
export "$runner=bash $PWD/tests/runner.sh"
# The tests wait more than they compute: more of them than there are cores.
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-$(($(nproc) * 2))}

# Builds the whole workspace at once: programs, libraries and tests then share one set
# of features, and nothing is built twice. Prints where cargo put the target $1 of this
# package; the other arguments are cargo's and say which targets.
build() {
  local name=$1
  shift
  cargo build --workspace "$@" --message-format=json-render-diagnostics |
    sed -n "s#.*\"manifest_path\":\"$PWD/tests/Cargo.toml\".*\"name\":\"$name\".*\"executable\":\"\([^\"]*\)\".*#\1#p"
}

case ${1:-} in
  bench)
    shift
    executable=$(build table --release --bins --benches)
    CARGO_PKG_NAME=tests exec bash tests/runner.sh "$executable" "$@"
    ;;
  it)
    shift
    executable=$(build it --all-targets)
    CARGO_PKG_NAME=tests exec bash tests/runner.sh "$executable" "$@"
    ;;
  "")
    build it --all-targets >/dev/null
    exec cargo test --workspace --no-fail-fast
    ;;
  *)
    echo "tests/run.sh: unknown argument $1; allowed are it and bench" >&2
    exit 64
    ;;
esac
