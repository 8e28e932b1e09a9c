#!/bin/sh
# example.sh BUILD CMAKE CC WAY: a stranger's project is built against an installation that was moved
# after it was made, found in the WAY named, cmake or pkg-config, and its programs are recorded.
set -eu
build=${1:?the build folder}
cmake=${2:?cmake}
cc=${3:?a C compiler}
way=${4:?cmake or pkg-config}
source=$(cd "$(dirname "$0")/example" && pwd)
if [ "$way" = pkg-config ] && ! command -v pkg-config > /dev/null; then
    echo "skipped: pkg-config is not here"
    exit 77
fi
CMAKE_GENERATOR=$(sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' "$build/CMakeCache.txt")
export CMAKE_GENERATOR
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

quietly()
{
    "$@" > "$work/log" 2>&1 || {
        echo "failed: $*"
        cat "$work/log"
        exit 1
    }
}

# The words of $found are options.
# shellcheck disable=SC2086
by_cmake()
{
    # Found where it was moved to, and not a machine's own.
    found="-DCMAKE_PREFIX_PATH=$opt -DCMAKE_C_COMPILER=$cc
        -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF"
    quietly "$cmake" -S "$source" -B "$work/out" $found
    quietly "$cmake" --build "$work/out"
    # A program that asks for what does not exist yet is told so.
    sed 's/Tidemark 0.1/Tidemark 99/' "$source/CMakeLists.txt" > "$work/CMakeLists.txt"
    cp "$source"/*.c "$work"
    if "$cmake" -S "$work" -B "$work/later" $found > "$work/log" 2>&1; then
        echo "version 99 was found"
        exit 1
    fi
    grep -q 'compatible with requested version "99"' "$work/log" || { cat "$work/log"; exit 1; }
}

# The words of pkg-config's answer are options.
# shellcheck disable=SC2046
by_pkg_config()
{
    PKG_CONFIG_LIBDIR=$opt/lib/pkgconfig
    export PKG_CONFIG_LIBDIR
    mkdir "$work/out"
    quietly "$cc" -o "$work/out/reports" "$source/reports.c" $(pkg-config --cflags --libs tidemark)
    quietly "$cc" -o "$work/out/allocates" "$source/allocates.c" \
        $(pkg-config --cflags --libs tidemark-alloc) "-Wl,-rpath,$opt/lib"
    version=$("$opt/bin/tidemark" --version | sed -n 's/^tidemark \([0-9.]*\).*/\1/p')
    quietly pkg-config --exact-version "$version" tidemark tidemark-alloc
}

# recorded PROGRAM BYTES: its recording's peak is that many bytes, on one device.
recorded()
{
    quietly "$work/out/$1"
    quietly "$opt/bin/tidemark" record -o "$work/$1.db" -- "$work/out/$1"
    "$opt/bin/tidemark" sql "$work/$1.db" --format csv \
        'select max(size) from allocation' > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
    grep -qx "$2" "$work/log" || {
        echo "$1: a largest block of $2 bytes was expected:"
        cat "$work/log"
        exit 1
    }
}

quietly "$cmake" --install "$build" --prefix "$work/first"
opt=$work/moved
mv "$work/first" "$opt"
case $way in
cmake) by_cmake ;;
pkg-config) by_pkg_config ;;
esac
recorded reports 3145728
recorded allocates 5242880
echo "a project found the moved installation by $way, and its two programs were recorded"
