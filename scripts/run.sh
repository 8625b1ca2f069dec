#!/usr/bin/env bash
# Builds the product and starts it on this machine, with a demonstration.
#
#   scripts/run.sh [STATE [PORT]]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PATH=$PATH:$HOME/.cargo/bin

if [ "$(id -u)" = 0 ]; then
  state=/var/lib/guilds-dev
else
  state=${XDG_STATE_HOME:-$HOME/.local/state}/guilds-dev
fi
state=${1:-$state}
port=${2:-8440}

# The whole workspace, so that every program is built with the same features.
cargo build --workspace --bins
target=$(cargo metadata --no-deps --format-version 1 | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p')
exec "$target/debug/guilds" dev --demo --state "$state" --port "$port"
