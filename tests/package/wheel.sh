#!/bin/sh
# wheel.sh SOURCE BUILD CMAKE PYTHON: a wheel of this build: what RECORD says of it holds, the same tree
# gives the same bytes, and pip puts it into an environment where the command records. No network.
set -eu
source=${1:?the source}
build=${2:?the build folder}
cmake=${3:?cmake}
python=${4:?python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
SOURCE_DATE_EPOCH=1700000000
PYTHONDONTWRITEBYTECODE=1
export SOURCE_DATE_EPOCH PYTHONDONTWRITEBYTECODE

quietly()
{
    "$@" > "$work/log" 2>&1 || {
        echo "failed: $*"
        cat "$work/log"
        exit 1
    }
}

# make OUT
make()
{
    mkdir "$work/$1"
    quietly "$python" "$source/packaging/wheel.py" --tree "$work/tree" --source "$source" \
        --version 0.1.2 --platform manylinux_2_28_x86_64 --out "$work/$1"
}

quietly "$cmake" --install "$build" --prefix "$work/tree" --strip
make one
# The same tree, a later day, another reader of the files.
find "$work/tree" -exec touch -d 2001-01-01 {} +
make two
cmp "$work"/one/*.whl "$work"/two/*.whl
"$python" "$(dirname "$0")/wheel_holds.py" "$work"/one/*.whl "$work/tree"
# A link would become a copy, or nothing, by whoever unpacks: it is refused.
ln -s libtidemark.so "$work/tree/lib/tidemark/link.so"
if "$python" "$source/packaging/wheel.py" --tree "$work/tree" --source "$source" --version 0.1.2 \
    --platform x --out "$work" > "$work/log" 2>&1; then
    echo "a link was taken"
    exit 1
fi

"$python" -m venv --without-pip "$work/v"
if ! "$python" -m pip --python "$work/v/bin/python" --version > /dev/null 2>&1; then
    echo "skipped from here: no pip 22.3 or later, which could install it"
    exit 77
fi
quietly "$python" -m pip --python "$work/v/bin/python" install --no-index --no-deps "$work"/one/*.whl
(cd "$work" && quietly v/bin/tidemark record -o run.db -- "$build/samples/minimal")
grep -q 'nothing was lost' "$work/log" || { cat "$work/log"; exit 1; }
quietly "$work/v/bin/python" -c 'import tidemark, os; assert "site-packages" in tidemark.__file__'
quietly "$python" -m pip --python "$work/v/bin/python" uninstall -y tidemark
left=$(find "$work/v" -name '*tidemark*')
[ -z "$left" ] || { echo "left after pip uninstall: $left"; exit 1; }
echo "the wheel holds what it says, and pip installs it and takes it away"
