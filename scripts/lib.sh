# shellcheck shell=bash
# What the scripts beside this share: sourced, never run. Leaves the caller at the root of the repository.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The worker's name for wrangler: containers are named after it, so two runs of one name on one engine would share them.
export ROOMBOX_NAME="${ROOMBOX_NAME:-roombox}"
# wrangler on this machine calls nobody: no metrics, no look-up of a sample Request.cf.
export WRANGLER_SEND_METRICS=false CLOUDFLARE_CF_FETCH_ENABLED=false

say() { printf '==> %s\n' "$*" >&2; }
die() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}
have() { command -v "$1" >/dev/null; }

# What the core is built with where it is built here: a wasi-sdk in WASI_SDK_PREFIX brings its compilers along.
core_tools=(cmake ninja)
[[ -n ${WASI_SDK_PREFIX:-} ]] || core_tools+=(clang++-19 wasm-ld-19 wasm-opt)

can_be_root() { ((EUID == 0)) || { have sudo && { sudo -n true 2>/dev/null || [[ -t 2 ]]; }; }; }
as_root=() # goes before a command
((EUID == 0)) || as_root=(sudo)

# shellcheck source=/dev/null
release=$(. /etc/os-release && echo "$ID ${VERSION_ID:-}") || release=unknown # as in "debian 12"

# The agent needs Boost 1.81; Debian 12 has it beside its default, later releases have a newer default.
boost_package() { if [[ $release == "debian 12" ]]; then echo libboost1.81-dev; else echo libboost-dev; fi; }

# Installs those of the named Debian packages that are not there.
apt_install() {
  local package status missing=()
  status=$(dpkg-query -W -f ' ${Package} ${db:Status-Status} ' "$@" 2>/dev/null || true)
  for package; do [[ $status == *" $package installed "* ]] || missing+=("$package"); done
  ((${#missing[@]})) || return 0
  can_be_root || die "needs root to install packages. Install them, then run this again:
  apt-get install --no-install-recommends ${missing[*]}"
  say "Installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq || say "The package lists could not all be refreshed; trying with what there is"
  # Nothing of the user's is removed for ours; and RUNLEVEL keeps a service that comes with a package from starting.
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -qq -y --no-install-recommends \
    --no-remove -o Dpkg::Use-Pty=0 "${missing[@]}" >&2 </dev/null
}
