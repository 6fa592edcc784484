#!/usr/bin/env bash
# Installs the packages that `./dev package deb` has made in a bare Debian or Ubuntu, uses them and purges them. As root,
# where debootstrap is installed and a mirror can be reached (packages of Ubuntu: made on Ubuntu):
#
#     tests/packages.sh [SUITE [MIRROR]]     (bookworm; noble http://archive.ubuntu.com/ubuntu for Ubuntu 24.04)
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
suite=${1:-bookworm} mirror=${2:-http://deb.debian.org/debian}
root=$(mktemp -d)
chmod 755 "$root" # mandb runs as a user of its own
trap 'umount "$root/proc" 2>/dev/null || true; rm -rf --one-file-system "$root"' EXIT
# To a debootstrap that does not know a suite of Ubuntu yet, it is as its older ones.
script=()
[ "$suite" != noble ] || [ -e /usr/share/debootstrap/scripts/noble ] || script=(gutsy)
debootstrap --variant=minbase --include=ca-certificates "$suite" "$root" "$mirror" "${script[@]}" >/dev/null
[ "$suite" != noble ] || echo "deb $mirror noble main universe" >"$root/etc/apt/sources.list"
mount -t proc proc "$root/proc"
cp build/packages/*.deb "$root/tmp/"
within() { chroot "$root" env DEBIAN_FRONTEND=noninteractive HOME=/root LC_ALL=C.UTF-8 bash -euo pipefail -c "$1"; }
files() { (cd "$root" && find etc usr var/lib opt ! -path 'var/lib/apt/*' ! -path 'var/lib/dpkg/*' ! -path '*__pycache__*' | sort); }
within 'apt-get -q update && apt-get -qy -o Dpkg::Use-Pty=0 install --no-install-recommends bash-completion man-db python3-numpy libhdf5-103-1* \
    libjansson4 libgomp1 && apt-get clean' >/dev/null 2>&1
files >"$root/before"
echo "== install"
within 'rm -f /etc/dpkg/dpkg.cfg.d/*; apt-get -qy -o Dpkg::Use-Pty=0 install --no-install-recommends /tmp/*.deb 2>&1 | grep -E "^Setting up.*stencil"'
echo "== use"
within 'cd /tmp && stencil --version && stencil new p.h5 --problem poisson --size 65x65 && stencil p.h5 | grep -E "^(Steps|Output)" &&
    stencil verify p.out.h5'
within 'man -P cat stencil | sed -n "3,4p"'
within 'set +eu; . /usr/share/bash-completion/bash_completion; _completion_loader stencil; COMP_WORDS=(stencil --sweep pi); COMP_CWORD=2
    _stencil; echo "completed: ${COMPREPLY[*]}"'
within 'python3 -c "import numpy, stencil; r = stencil.solve(numpy.eye(65), problem=\"laplace\", rtol=1e-6); print(r.reason, r.steps)"'
echo "== purge"
within 'apt-get -qy -o Dpkg::Use-Pty=0 purge stencil libstencil1 libstencil-dev python3-stencil >/dev/null && rm -f /tmp/p*.h5'
files >"$root/after"
diff "$root/before" "$root/after" && echo "nothing is left"
