#!/bin/sh
# setup.sh: installs what the build and the tests need, from Debian's packages, and says what. Does
# nothing, without the network and without root, when all of it is there. Called by demo.sh and
# test.sh; the only place that knows the list. Arguments are further packages that somebody wants,
# each with a command of its name.
set -eu
PATH=${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}
export PATH
more=$*

# A package, and the command or file by which we know that what it brings is there, however it came.
wanted() {
    cat << 'END'
cmake           cmake
ninja-build     ninja
gcc             gcc
libc6-dev       /usr/include/features.h
libsqlite3-dev  /usr/include/sqlite3.h
sqlite3         sqlite3
binutils        objdump
python3         python3
python3-torch   /usr/lib/python3/dist-packages/torch/__init__.py
END
    for name in $more; do
        echo "$name $name"
    done
}

is_there() {
    case $1 in
    /*) [ -e "$1" ] ;;
    *) command -v "$1" > /dev/null ;;
    esac
}

missing() {
    wanted | while read -r package probe; do
        is_there "$probe" || printf ' %s' "$package"
    done
}

packages=$(missing)
[ -n "$packages" ] || exit 0
if ! command -v apt-get > /dev/null; then
    echo "setup: please install what Debian calls:$packages" >&2
    exit 1
fi
as_root=""
if [ "$(id -u)" -ne 0 ]; then
    as_root=sudo
    if ! command -v sudo > /dev/null; then
        echo "setup: as root, please: apt-get install$packages" >&2
        exit 1
    fi
fi

echo "setup: installing from Debian's packages:$packages"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# shellcheck disable=SC2086
if ! { $as_root apt-get update &&
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $packages; } \
    < /dev/null > "$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "setup: apt-get could not install:$packages" >&2
    exit 1
fi
packages=$(missing)
if [ -n "$packages" ]; then
    echo "setup: installed, and still not to be found:$packages" >&2
    exit 1
fi
