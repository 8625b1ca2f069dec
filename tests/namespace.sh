#!/usr/bin/env bash
# Runs one test binary inside mount, network, pid and cgroup namespaces of its own.
#
#   namespace.sh EXECUTABLE [ARGUMENT]...        (as root)
#
# Inside, /etc is a copy (accounts made by the tests stay in it), /run, /home and
# /usr/local/bin are empty, only loopback exists, and the cgroup mounts show a
# subtree made for this run. So the tests run beside a live `make run` and leave
# nothing: the last process of the pid namespace takes all others with it.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
self=$here/$(basename "${BASH_SOURCE[0]}")

# Mount points of cgroup v2, and of the v1 hierarchies that limit memory and pids.
hierarchies() {
  awk '$3 == "cgroup2" { print $2 }
       $3 == "cgroup" && $4 ~ /(^|,)(memory|pids)(,|$)/ { print $2 }' /proc/mounts | sort -u
}

# Children first, because a cgroup with children can't be removed.
remove_cgroup() {
  local try
  for try in {1..40}; do
    [ -d "$1" ] || return 0
    find "$1" -mindepth 0 -depth -type d -exec rmdir {} + 2>/dev/null || true
    [ -d "$1" ] || return 0
    sleep 0.05
  done
  echo "namespace.sh: $1 still holds processes" >&2
}

stage_outside() {
  if [ "$(id -u)" != 0 ]; then
    echo "namespace.sh: needs root, because the tests make accounts, mounts and firewall rules" >&2
    exit 77
  fi
  local name=guilds-test-$$ work hierarchy status=0
  work=$(mktemp -d "${TMPDIR:-/tmp}/$name.XXXXXXXX")
  chmod 0711 "$work"
  # shellcheck disable=SC2064
  trap "leave '$name' '$work'" EXIT
  # What an earlier run left that was ended before it could clean up.
  local stale pid
  for stale in "${TMPDIR:-/tmp}"/guilds-test-*.*; do
    pid=${stale##*/guilds-test-}
    [ -d "$stale" ] && [ ! -d "/proc/${pid%%.*}" ] && rm -rf --one-file-system "$stale"
  done
  for hierarchy in $(hierarchies); do
    for stale in "$hierarchy"/guilds-test-*; do
      [ -d "$stale" ] && [ ! -d "/proc/${stale##*-}" ] && remove_cgroup "$stale"
    done
    mkdir -p "$hierarchy/$name"
  done
  # The shell in between joins the cgroup, so that this one stays outside and can remove it.
  GUILDS_TEST_STAGE=cgroup GUILDS_TEST_NAME=$name GUILDS_TEST_WORK=$work bash "$self" "$@" || status=$?
  exit "$status"
}

leave() {
  local hierarchy
  for hierarchy in $(hierarchies); do remove_cgroup "$hierarchy/$1"; done
  rm -rf "$2"
}

stage_cgroup() {
  local hierarchy
  for hierarchy in $(hierarchies); do
    echo $$ >"$hierarchy/$GUILDS_TEST_NAME/cgroup.procs"
  done
  GUILDS_TEST_STAGE=leaf exec unshare --cgroup bash "$self" "$@"
}

stage_leaf() {
  # On v2 a cgroup that hands controllers down may hold no process itself, so this
  # one and all it starts move into a leaf. Where a controller is not to be had
  # (hybrid machines), there is nothing to hand down.
  local hierarchy root
  for hierarchy in $(hierarchies); do
    root=$hierarchy/$GUILDS_TEST_NAME
    mkdir -p "$root/tests"
    echo $$ >"$root/tests/cgroup.procs"
    if [ -e "$root/cgroup.subtree_control" ]; then
      echo "+memory +pids" >"$hierarchy/cgroup.subtree_control" 2>/dev/null || true
      echo "+memory +pids" >"$root/cgroup.subtree_control" 2>/dev/null || true
    fi
  done
  GUILDS_TEST_STAGE=inside exec unshare --mount --net --pid --fork --kill-child --mount-proc \
    bash "$self" "$@"
}

stage_inside() {
  local executable=$1 world=$GUILDS_TEST_WORK/world hierarchy profile
  shift
  # …/<profile>/deps/it-<hash>: the programs under test lie two folders up.
  profile=$(dirname "$(dirname "$executable")")
  ip link set lo up

  mkdir "$world"
  mount -t tmpfs -o mode=755 guilds-test "$world"
  mkdir -p "$world"/run/guilds-test/{repo,target,work} "$world"/{etc,home,bin}
  cp -a /etc/. "$world/etc"
  mkdir "$GUILDS_TEST_WORK/files"
  chmod 0711 "$GUILDS_TEST_WORK/files"
  # Bound before anything is covered: checkout and build may lie under /home.
  mount --bind "$here/.." "$world/run/guilds-test/repo"
  mount --bind "$profile" "$world/run/guilds-test/target"
  mount --bind "$GUILDS_TEST_WORK/files" "$world/run/guilds-test/work"
  for hierarchy in $(hierarchies); do
    mount --bind "$hierarchy/$GUILDS_TEST_NAME" "$hierarchy"
  done
  mount --bind "$world/etc" /etc
  mount --bind "$world/home" /home
  mount --bind "$world/bin" /usr/local/bin
  mount --rbind "$world/run" /run

  export GUILDS_TEST_NAMESPACE=1
  export GUILDS_TEST_REPO=/run/guilds-test/repo
  export GUILDS_TEST_BIN=/run/guilds-test/target
  export GUILDS_TEST_WORK=/run/guilds-test/work
  export TMPDIR=/tmp PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
  unset GUILDS_TEST_STAGE GUILDS_TEST_NAME
  umask 022
  cd "$GUILDS_TEST_REPO/tests"
  local status=0
  # Not exec: this shell is the namespace's first process and reaps what daemons leave to it.
  "$GUILDS_TEST_BIN/deps/$(basename "$executable")" "$@" || status=$?
  exit "$status"
}

"stage_${GUILDS_TEST_STAGE:-outside}" "$@"
