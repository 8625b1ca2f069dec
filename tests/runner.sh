#!/usr/bin/env bash
# Cargo's runner for test binaries: the end-to-end tests and the benches go into
# namespaces of their own, everything else runs as it is.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# Other packages may have a test of the same name; cargo tells whose this one is.
case ${CARGO_PKG_NAME:-}/$(basename "$1") in
  tests/it-* | tests/table-*) ;;
  *) exec "$@" ;;
esac
executable=$(realpath "$1")
shift
if [ "$(id -u)" = 0 ]; then
  exec bash "$here/namespace.sh" "$executable" "$@"
elif command -v sudo >/dev/null && sudo -v; then
  exec sudo --preserve-env=RUST_TEST_THREADS,RUST_BACKTRACE,GUILDS_RACE_TRIES,GUILDS_KILLS,GUILDS_SEED bash "$here/namespace.sh" "$executable" "$@"
fi
echo "runner.sh: $(basename "$executable") makes accounts, mounts and firewall rules: run it as root, or install sudo" >&2
exit 77
