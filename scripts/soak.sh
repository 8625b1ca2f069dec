#!/usr/bin/env bash
# Calls tools of the running stack for a while and reports how its memory grew.
#
#   scripts/soak.sh [SECONDS]      the stack is that of `make run`, or of GUILDS_STATE
#
# Fails when a call fails or when a daemon ends up with a third more memory than
# after the first minute. Then kills daemons of a stack of its own, KILLS (1000) times at
# random inside calls, and reads the books (tests/it/kills.rs).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PATH=$PATH:$HOME/.cargo/bin

seconds=${1:-600}
if [ "$(id -u)" = 0 ]; then
  state=${GUILDS_STATE:-/var/lib/guilds-dev}
else
  state=${GUILDS_STATE:-${XDG_STATE_HOME:-$HOME/.local/state}/guilds-dev}
fi
if [ ! -e "$state/dev.env" ]; then
  echo "soak: no stack answers in $state; start one with \`make run\`" >&2
  exit 1
fi
set -a
# shellcheck disable=SC1091
. "$state/dev.env"
set +a
target=$(cargo metadata --no-deps --format-version 1 | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p')
guilds=$target/debug/guilds

call() { "$guilds" call --agent ada "$@" >/dev/null; }

# Kilobytes that only this process holds, or its share of.
memory() {
  local pid
  pid=$(cut -d' ' -f1 "$state/pids/$1")
  awk '/^Pss:/ { print $2 }' "/proc/$pid/smaps_rollup"
}

daemons=(control-plane machine-agent)
declare -A first=()
calls=0
started=$SECONDS
while [ $((SECONDS - started)) -lt "$seconds" ]; do
  call note_write level=agent key=soak.md content="call $calls"
  call note_get path=agent/ada/soak.md
  call shell command='echo soak'
  call browser_navigate url="$GUILDS_DEMO_SITE"
  call browser_snapshot
  calls=$((calls + 5))
  if [ ${#first[@]} -eq 0 ] && [ $((SECONDS - started)) -ge $((seconds < 120 ? seconds / 2 : 60)) ]; then
    for daemon in "${daemons[@]}"; do first[$daemon]=$(memory "$daemon"); done
  fi
done

status=0
echo "soak: $calls calls in $((SECONDS - started)) s"
for daemon in "${daemons[@]}"; do
  now=$(memory "$daemon")
  echo "soak: $daemon held ${first[$daemon]:-$now} kB early on, $now kB at the end"
  if [ "$now" -gt $((${first[$daemon]:-$now} * 4 / 3)) ]; then
    echo "soak: $daemon grew by more than a third" >&2
    status=1
  fi
done

GUILDS_KILLS=${KILLS:-1000} tests/run.sh it kills --nocapture || status=1
exit "$status"
