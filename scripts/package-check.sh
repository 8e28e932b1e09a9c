#!/bin/sh
# package-check.sh SCRATCH SUITE...: installs what package.sh made in bare Debian systems, and uses it.
#
#   sudo scripts/package-check.sh /var/tmp/check bullseye bookworm trixie
#
# Needs root (chroot), debootstrap, the network (Debian's packages, PyPI) and up to 10 GB for one
# system at a time. Each is made by debootstrap below SCRATCH, has Python and its venv, and nothing
# of the build. An ordinary user there makes an environment with PyTorch and installs the wheel by pip;
# then the Debian package comes by apt, then the tarball is unpacked; each records two trainings and
# reads the first screen (packaging/check/inside.sh). A system stays for the next time, the
# environment does not. TIDEMARK_CHECK_TORCH names another torch than the newest that pip finds.
set -eu
cd "$(dirname "$0")/.."
packages=$(pwd)/build/package
check=$(pwd)/packaging/check
sample=$(pwd)/samples/torch/seq2seq.py
scratch=${1:?a folder for the systems}
shift
torch=${TIDEMARK_CHECK_TORCH:-torch}
failed=""
[ -f "$packages/SHA256SUMS" ] || { echo "package-check: scripts/package.sh first" >&2; exit 2; }
mkdir -p "$scratch"

# bare SUITE: the system, with the host's way to the network and a user.
bare()
{
    system=$scratch/$1
    if [ ! -e "$system/etc/debian_version" ]; then
        debootstrap --variant=minbase --include=python3-venv,ca-certificates "$1" "$system" \
            > "$scratch/$1.log" 2>&1 || { tail -n 20 "$scratch/$1.log" >&2; exit 1; }
    fi
    for file in /etc/resolv.conf /etc/pip.conf /etc/ssl/certs/ca-certificates.crt; do
        [ ! -e "$file" ] || cp "$file" "$system$file"
    done
    grep -q '^trainer:' "$system/etc/passwd" || chroot "$system" useradd -m -d /srv/trainer -s /bin/sh trainer
    home=$system/srv/trainer
    rm -rf "$home/check"
    mkdir "$home/check"
    cp "$packages"/*.whl "$packages"/*.deb "$packages"/*.tar.gz "$check"/* "$sample" "$home/check"
    chroot "$system" chown -R trainer: /srv/trainer/check
}

# as USER COMMAND: a shell command in the system, with a /proc, and local wheels if pip has such.
as()
{
    # shellcheck disable=SC2016
    unshare -m sh -c '
        mount -t proc proc "$1/proc"
        for wheels in ${PIP_FIND_LINKS:-}; do
            [ ! -d "$wheels" ] || { mkdir -p "$1$wheels" && mount --bind "$wheels" "$1$wheels"; }
        done
        exec chroot "$1" su - "$2" -w PIP_CERT,PIP_FIND_LINKS,PIP_DEFAULT_TIMEOUT -c "$3"' \
        as "$system" "$1" "$2" < /dev/null
}

# try SUITE: all three ways.
try()
{
    bare "$1"
    echo "== Debian $(cat "$system/etc/debian_version"), $(chroot "$system" python3 --version), $(chroot "$system" ldd --version | sed 1q)"
    as trainer "cd check && python3 -m venv v && v/bin/pip install -q --no-cache-dir ./tidemark-*.whl '$torch' numpy" &&
        as trainer 'cd check && v/bin/python -c "import torch; print(\"torch\", torch.__version__)"' &&
        as trainer 'cd check && sh inside.sh wheel' || return 1
    as root 'apt-get update -q && cd /srv/trainer/check &&
        DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends ./tidemark_*.deb' \
        > "$scratch/$1.apt" 2>&1 || { tail -n 20 "$scratch/$1.apt"; return 1; }
    as trainer 'cd check && sh inside.sh deb' || return 1
    as root 'apt-get purge -q -y tidemark' > "$scratch/$1.apt" 2>&1 || { tail -n 20 "$scratch/$1.apt"; return 1; }
    left=$(find "$system/usr" -iname '*tidemark*')
    [ -z "$left" ] || { echo "apt purge left $left"; return 1; }
    as trainer 'cd check && sh inside.sh tar' || return 1
}

for suite in "$@"; do
    if try "$suite"; then
        rm -rf "$home/check/v"
    else
        failed="$failed $suite"
    fi
done
[ -z "$failed" ] || { echo "package-check: failed:$failed" >&2; exit 1; }
echo "package-check: all of $* passed"
