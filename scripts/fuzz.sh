#!/usr/bin/env bash
# Fuzzes every target of `fuzz/` for so many seconds: scripts/fuzz.sh [SECONDS]
#
# What a run finds beyond the committed corpus stays in the target folder; an input that
# fails is printed with its path.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=${1:-60}
root=${CARGO_TARGET_DIR:-$PWD/target}/fuzz
PATH=$PATH:$HOME/.cargo/bin
export CARGO_TARGET_DIR=$root

cargo fuzz build --sanitizer none
for target in $(cargo fuzz list); do
  printf '== fuzz %s, %s s\n' "$target" "$seconds"
  mkdir -p "$root/corpus/$target" "$root/artifacts"
  log=$root/$target.log
  if ! cargo fuzz run --sanitizer none "$target" "$root/corpus/$target" "fuzz/corpus/$target" -- \
    -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=2048 \
    -artifact_prefix="$root/artifacts/$target-" >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    exit 1
  fi
  grep -a '^Done' "$log"
done
