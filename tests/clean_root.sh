#!/usr/bin/env bash
# Runs README's two commands on a clean Debian 12: a debootstrap root with this machine's package
# settings, a clone of HEAD, and nothing else.
#
#   tests/clean_root.sh [FOLDER]     as root; FOLDER is kept, without it a temporary one is removed
#
# It needs debootstrap and git, and about 5 GB.
set -euo pipefail
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

die() {
  echo "clean_root: $*" >&2
  exit 1
}

[ "$(id -u)" = 0 ] || die "must run as root: it makes a root folder and enters it"
command -v debootstrap >/dev/null || die "needs debootstrap: apt-get install debootstrap"

# shellcheck disable=SC2016 # $(SITE) is apt's own placeholder
mirror=$(apt-get indextargets --format '$(SITE)' 'Codename: bookworm' 'Created-By: Packages' | head -n 1)
[ -n "$mirror" ] || die "this machine's apt knows no Debian 12 mirror, so its settings would not fit the root"

keep=${1:-}
root=${keep:-$(mktemp -d)}
mkdir -p "$root"
chmod 755 "$root" # apt downloads as a user of its own
root=$(cd "$root" && pwd)
[ -z "$(ls -A "$root")" ] || die "$root is not empty"
output=$(mktemp)

cleanup() {
  rm -f "$output"
  if mountpoint -q "$root/proc"; then
    umount "$root/proc"
  fi
  # Never remove a folder in which something is still mounted.
  if [ -z "$keep" ] && ! grep -q " $root/" /proc/mounts; then
    rm -rf "$root"
  fi
}
trap cleanup EXIT

started=$SECONDS
step() { echo "clean_root: $((SECONDS - started)) s: $*" >&2; }

step "debootstrap"
if ! debootstrap --variant=minbase bookworm "$root" "$mirror" >"$output" 2>&1; then
  tail -n 20 "$output" >&2
  die "debootstrap failed"
fi

# This machine's settings of the package clients: sources, keys, certificates, names, pip.
for path in /etc/apt /usr/share/keyrings /etc/ssl/certs /etc/ssl/openssl.cnf \
            /usr/local/share/ca-certificates /etc/pip.conf /etc/resolv.conf /etc/hosts; do
  [ -e "$path" ] || continue
  rm -rf "${root:?}$path"
  mkdir -p "$root$(dirname "$path")"
  cp -aL "$path" "$root$path"
done
if [ -f "$HOME/.config/pip/pip.conf" ]; then
  mkdir -p "$root/root/.config/pip"
  cp "$HOME/.config/pip/pip.conf" "$root/root/.config/pip/"
fi

mount -t proc proc "$root/proc"

git clone --quiet "$repo" "$root/plumbline"

# The settings that the clients read from the environment (proxies, certificates, pip) go along.
settings=()
while IFS= read -r name; do
  settings+=("$name=${!name}")
done < <(compgen -e | grep -E '^(PIP_.*|.*_(proxy|PROXY)|SSL_CERT_.*|.*CA_BUNDLE)$' || true)

# Runs a command in the clone; its output is shown and kept in $output.
inside() {
  env -i HOME=/root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    "${settings[@]}" chroot "$root" /bin/bash -c "cd /plumbline && $1" 2>&1 | tee "$output"
}

step "./tasks/quickstart"
inside ./tasks/quickstart || die "./tasks/quickstart failed"
grep -q 'row-softmax' "$output" || die "./tasks/quickstart did not end with the report of row-softmax"

step "./tests/run"
inside ./tests/run || die "./tests/run failed"
grep -q '^100% tests passed' "$output" || die "./tests/run did not end with all tests passed"

step "both commands work on a clean root"
