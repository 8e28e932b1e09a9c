#!/bin/sh
# install.sh BUILD CMAKE: installs into an empty folder; what is promised is there and can be used.
set -eu
build=${1:?the build folder}
cmake=${2:?cmake}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

"$cmake" --install "$build" --prefix "$work/opt" > "$work/log" 2>&1 ||
    { cat "$work/log"; exit 1; }
helper=$(cd "$(dirname "$0")/../.." && find python -name '*.py' -o -name py.typed)
for file in lib/tidemark/libtidemark.so lib/tidemark/rehearsal/libcuda.so.1 \
    lib/tidemark/rehearsal/libnvidia-ml.so.1 lib/libtidemark_alloc.so include/tidemark.h share/doc/tidemark/README.md \
    share/doc/tidemark/LICENSE share/doc/tidemark/NEWS \
    share/man/man1/tidemark.1 share/man/man1/tidemark-record.1 \
    share/bash-completion/completions/tidemark share/zsh/site-functions/_tidemark \
    lib/cmake/Tidemark/TidemarkConfig.cmake lib/pkgconfig/tidemark.pc lib/pkgconfig/tidemark-alloc.pc \
    $(echo "$helper" | sed 's,^,lib/tidemark/,'); do
    [ -f "$work/opt/$file" ] || { echo "not installed: $file"; failed=1; }
done
extra=$(cd "$work/opt" && find . -type f ! -path './share/doc/tidemark/*' ! -path './bin/tidemark' \
    ! -path './include/tidemark.h' ! -path './lib/tidemark/libtidemark.so' \
    ! -path './lib/libtidemark_alloc.so' ! -path './lib/tidemark/rehearsal/lib*.so.1' ! -path './share/man/man1/tidemark*.1' \
    ! -path './share/bash-completion/completions/tidemark' \
    ! -path './share/zsh/site-functions/_tidemark' \
    ! -path './lib/cmake/Tidemark/*.cmake' ! -path './lib/pkgconfig/tidemark*.pc' \
    ! -path './lib/tidemark/python/*')
# Every page leads somewhere, and what the README names of the source is there to be read.
sh "$(dirname "$0")/links.sh" "$work/opt/share/doc/tidemark" > "$work/log" 2>&1 ||
    { cat "$work/log"; failed=1; }
source=$(cd "$(dirname "$0")/../.." && pwd)
for file in README.md CONTRIBUTING.md $(cd "$source" &&
    find docs samples schema -type f ! -name CMakeLists.txt ! -path '*/__pycache__/*' \
        ! -path 'schema/*.[ch]' ! -path 'schema/*.def'); do
    cmp -s "$source/$file" "$work/opt/share/doc/tidemark/$file" ||
        { echo "not installed as it is: share/doc/tidemark/$file"; failed=1; }
done
code=$(cd "$work/opt/share/doc/tidemark" &&
    find . -type f ! -path './docs/*' ! -path './samples/*' ! -name '*.md' ! -name '*.sql' \
        ! -name NEWS ! -name LICENSE ! -path ./include/tidemark.h)
[ -z "$code" ] || { echo "installed among the pages, and nobody knows why: $code"; failed=1; }
[ -z "$extra" ] || { echo "installed, and nobody knows why: $extra"; failed=1; }

# The command works from there, moved elsewhere too, with nothing of the build tree in it.
if [ -f "$build/viewer-cli/tidemark" ]; then
    mv "$work/opt" "$work/moved"
    "$work/moved/bin/tidemark" --version > "$work/log" 2>&1 ||
        { cat "$work/log"; failed=1; }
    if readelf -d "$work/moved/bin/tidemark" "$work/moved/lib/tidemark/libtidemark.so" \
        "$work/moved/lib/libtidemark_alloc.so" |
        grep -E 'RPATH|RUNPATH'; then
        echo "an installed file keeps a path of the build"
        failed=1
    fi
    (cd "$work" && moved/bin/tidemark record -o run.db -- /bin/true) > "$work/log" 2>&1 ||
        { echo "record does not work from there:"; cat "$work/log"; failed=1; }
    [ -f "$work/run.db" ] || { echo "record left no database"; failed=1; }
fi
[ "$failed" -eq 0 ] && echo "an installation has what it should and can be moved"
