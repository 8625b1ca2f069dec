#!/usr/bin/env bash
# Installs what is missing to build and run (`run`), to test (`test`), and to measure (`bench`).
# Changes nothing, and asks for nothing, when nothing is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

purpose=${1:-run}
case $purpose in
  run | test | bench) ;;
  *)
    echo "set-up: unknown purpose \`$purpose\`; allowed are run, test and bench" >&2
    exit 64
    ;;
esac

say() { printf 'set-up: %s\n' "$*" >&2; }
die() {
  say "$@"
  exit 1
}

# Programs of root's path count as present for everyone.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

missing=()
# want PACKAGE FILE-OR-COMMAND
want() {
  case $2 in
    /*) [ -e "$2" ] || missing+=("$1") ;;
    *) command -v "$2" >/dev/null || missing+=("$1") ;;
  esac
}

want ca-certificates /etc/ssl/certs/ca-certificates.crt
want chromium /usr/lib/chromium/chromium
want curl curl
want g++ c++
want gcc cc
want libc6-dev /usr/include/stdlib.h
want iproute2 ip
want make make
want nftables nft
want passwd useradd
want postgresql-15 /usr/lib/postgresql/15/bin/initdb
want procps ps
want python3 /usr/bin/python3
want util-linux setpriv
if [ "$purpose" != run ]; then
  # Debian's Node is too old for the test clients; its npm fetches a newer one.
  want npm npm
  want python3-venv /usr/lib/python3.11/ensurepip
fi

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die "packages are missing and this is not root; run as root: apt-get install -y ${missing[*]}"
  fi
}

install_packages() {
  command -v apt-get >/dev/null ||
    die "this machine has no apt-get; install by hand what these Debian packages hold: ${missing[*]}"
  say "installing ${missing[*]}"
  # A package that a power cut left half unpacked is installed again; waiting for the
  # disk after each file would triple the time.
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300
    -o Acquire::Retries=3 -o DPkg::Options::=--force-unsafe-io)
  local no_cluster=/etc/postgresql-common/createcluster.d/guilds-set-up.conf
  as_root "${apt[@]}" update
  # The package makes and starts a cluster of its own, which nobody here needs.
  as_root mkdir -p "${no_cluster%/*}"
  echo 'create_main_cluster = false' | as_root tee "$no_cluster" >/dev/null
  local status=0
  as_root "${apt[@]}" install --no-install-recommends "${missing[@]}" || status=$?
  as_root rm -f "$no_cluster"
  as_root rmdir --ignore-fail-on-non-empty "${no_cluster%/*}"
  return "$status"
}

find_rust() {
  if ! command -v cargo >/dev/null && [ -x "$HOME/.cargo/bin/cargo" ]; then
    PATH=$HOME/.cargo/bin:$PATH
  fi
  command -v cargo >/dev/null ||
    die "Rust is missing: install it with rustup, then run this again"
}

# Installs the packages that the lock in the folder $1 names.
install_clients() {
  local clients=$1
  [ -e "$clients/package-lock.json" ] || return 0
  # npm keeps the lock it installed from; an equal one means that nothing changed.
  local stamp=$clients/node_modules/.installed-from
  cmp -s "$clients/package-lock.json" "$stamp" && return 0
  say "installing other people's clients of $clients"
  PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm ci --prefix "$clients" --no-audit --no-fund --loglevel=error
  cp "$clients/package-lock.json" "$stamp"
}

# Installs the Python packages that tests/clients/mcp pins, in an environment of their own.
install_python() {
  local pins=tests/clients/mcp/requirements.txt venv=tests/clients/venv
  cmp -s "$pins" "$venv/.installed-from" && return 0
  say "installing the Python packages of $pins"
  /usr/bin/python3 -m venv --clear "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r "$pins"
  cp "$pins" "$venv/.installed-from"
}

if [ ${#missing[@]} -gt 0 ]; then
  install_packages
fi
find_rust
if [ "$purpose" != run ]; then
  install_clients tests/clients
  install_python
fi
if [ "$purpose" = test ] && ! command -v cargo-fuzz >/dev/null && [ ! -x "$HOME/.cargo/bin/cargo-fuzz" ]; then
  say "installing cargo-fuzz"
  cargo install --locked --version 0.13.2 cargo-fuzz
fi
if [ "$purpose" = bench ]; then
  install_clients tests/benches/peers
fi
