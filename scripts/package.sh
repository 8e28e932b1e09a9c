#!/bin/sh
# package.sh [--twice] [--arch aarch64]: makes what is given to users, into build/package:
#
#   tidemark-V-py3-none-manylinux_2_28_x86_64.whl   for pip
#   tidemark_V-1_amd64.deb                          for apt
#   tidemark-V-linux-x86_64.tar.gz                  runs where it is unpacked
#   RELEASE-NOTES.md SHA256SUMS
#
# The same source gives the same bytes, in whatever folder: times are those of the last commit, or
# SOURCE_DATE_EPOCH. --twice proves it: packs once more from a copy of the source elsewhere, and
# compares. --arch aarch64 compiles for ARM with Debian's cross compiler (packaging/aarch64.cmake), into
# build/package/aarch64.
# The version is that of project() in CMakeLists.txt. Needs what scripts/setup.sh
# installs, no network and no root.
set -eu
cd "$(dirname "$0")/.."
PATH=${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}
LC_ALL=C
TZ=UTC
export PATH LC_ALL TZ
unset CFLAGS CPPFLAGS LDFLAGS
umask 022
root=$(pwd -P)
arch=x86_64
twice=no

fail()
{
    echo "package: $*" >&2
    exit 1
}

while [ $# -gt 0 ]; do
    case $1 in
    --twice) twice=yes ;;
    --arch)
        arch=${2:-}
        shift
        ;;
    *) fail "usage: scripts/package.sh [--twice] [--arch x86_64|aarch64]" ;;
    esac
    shift
done
case $arch in
x86_64) debian=amd64 ;;
aarch64) debian=arm64 ;;
*) fail "for x86_64 and aarch64 only" ;;
esac

version=$(sed -n 's/^project(tidemark VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)
[ -n "$version" ] || fail "CMakeLists.txt has no version"
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2> /dev/null || :)}
[ -n "$SOURCE_DATE_EPOCH" ] || fail "not a checkout: set SOURCE_DATE_EPOCH to the time of this version"
export SOURCE_DATE_EPOCH

out=$root/build/package
[ "$arch" = x86_64 ] || out=$out/$arch
work=$out/work
tree=$work/tree

# What a build for another processor needs, before it begins.
can_cross()
{
    [ "$arch" != "$(uname -m)" ] || return 0
    needs="packaging/$arch.cmake says what a build for $arch needs"
    for command in $arch-linux-gnu-gcc qemu-$arch; do
        command -v "$command" > /dev/null || fail "no $command here: $needs"
    done
    [ -e "${TIDEMARK_SYSROOT:-}/usr/include/sqlite3.h" ] && [ -n "${TIDEMARK_SYSROOT:-}" ] ||
        [ -e "/usr/$arch-linux-gnu/include/sqlite3.h" ] || fail "no SQLite for $arch here: $needs"
}

# quietly COMMAND...: shows what it said only if it failed.
quietly()
{
    "$@" > "$work/log" 2>&1 || {
        cat "$work/log" >&2
        fail "failed: $1"
    }
}

# No path of this machine is in what is built.
build()
{
    cross=""
    [ "$arch" = "$(uname -m)" ] || cross=-DCMAKE_TOOLCHAIN_FILE=$root/packaging/$arch.cmake
    # shellcheck disable=SC2086
    quietly cmake -G Ninja -S "$root" -B "$work/build" $cross -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_C_FLAGS="-ffile-prefix-map=$work/build=build -ffile-prefix-map=$root=tidemark" \
        -DTIDEMARK_TESTS=OFF -DTIDEMARK_CUDA=OFF
    quietly cmake --build "$work/build" --parallel "${TIDEMARK_JOBS:-$(nproc)}" --target \
        tidemark tidemark_guest tidemark_rehearsal tidemark_rehearsal_ml tidemark_alloc manual
}

# The tree that all packages are made of, each file with the time of this version.
install_tree()
{
    rm -rf "$tree"
    quietly env DESTDIR= cmake --install "$work/build" --prefix "$tree" --strip
    chmod -R u=rwX,go=rX "$tree"
    find "$tree" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
    # A short path such as /src may stand in the documentation; nothing writes one there.
    named=$(grep -rlF --exclude-dir=doc "$root" "$tree" || :)
    [ -z "$named" ] || fail "a file names the folder of the build: $named"
}

# The name of the platform says which glibc is old enough.
platform()
{
    glibc=$(sh packaging/glibc.sh "$tree")
    if [ "$arch" = x86_64 ]; then
        newest=$(printf '%s\n2.28\n' "$glibc" | sort -V | tail -n 1)
        [ "$newest" = 2.28 ] || fail "needs glibc $glibc, and 2.28 is promised"
        glibc=2.28
    fi
    platform=manylinux_$(echo "$glibc" | tr . _)_$arch
}

wheel()
{
    quietly python3 packaging/wheel.py --tree "$tree" --source "$root" --version "$version" \
        --platform "$platform" --out "$out"
    sed -n 's/^wheel.py: /package: wheel: /p' "$work/log"
    made="$made tidemark-$version-py3-none-$platform.whl"
}

tarball()
{
    name=tidemark-$version-linux-$arch
    tar --sort=name --format=ustar --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
        --transform="s,^tree,$name," -C "$work" -cf "$work/$name.tar" tree
    gzip -9n < "$work/$name.tar" > "$out/$name.tar.gz"
    rm "$work/$name.tar"
    made="$made $name.tar.gz"
}

deb()
{
    DEB_VERSION=$version
    DEB_ARCHITECTURE=$debian
    DEB_TRIPLET=$arch-linux-gnu
    DEB_GLIBC=$glibc
    # The authors have no address in common: .invalid is what never has one.
    DEB_MAINTAINER="${TIDEMARK_MAINTAINER:-The Tidemark authors <authors@tidemark.invalid>}"
    export DEB_VERSION DEB_ARCHITECTURE DEB_TRIPLET DEB_GLIBC DEB_MAINTAINER
    quietly sh packaging/deb.sh "$tree" "$work/deb" "$out"
    made="$made tidemark_$version-1_$debian.deb"
}

notes()
{
    awk -v "version=$version" -f packaging/notes.awk NEWS > "$out/RELEASE-NOTES.md"
    made="$made RELEASE-NOTES.md"
}

# The same once more, from a copy in another folder; every file has to be the same.
again()
{
    copy=$(mktemp -d)
    trap 'rm -rf "$copy"' EXIT
    mkdir -p "$copy/elsewhere/source"
    { git ls-files 2> /dev/null | grep . || find . -name build -prune -o -type f -print; } > "$copy/list"
    tar -cf "$copy/source.tar" -T "$copy/list"
    tar -xf "$copy/source.tar" -C "$copy/elsewhere/source"
    "$copy/elsewhere/source/scripts/package.sh" --arch "$arch" > "$copy/log" 2>&1 || {
        cat "$copy/log" >&2
        fail "the second time failed"
    }
    second=$copy/elsewhere/source${out#"$root"}/SHA256SUMS
    cmp "$out/SHA256SUMS" "$second" >&2 ||
        fail "the second time gave other bytes: $(diff "$out/SHA256SUMS" "$second" | sed -n 's/^> [0-9a-f]* *//p' | tr '\n' ' ')"
    echo "made twice, in two folders: the same bytes"
}

can_cross
mkdir -p "$work"
rm -f "$out"/*.whl "$out"/*.deb "$out"/*.tar.gz "$out/SHA256SUMS" "$out/RELEASE-NOTES.md"
made=""
build
install_tree
platform
wheel
deb
tarball
notes
# shellcheck disable=SC2086
(cd "$out" && sha256sum $made > SHA256SUMS && ls -l $made | awk '{ print $5, $NF }')
[ "$twice" = no ] || again
