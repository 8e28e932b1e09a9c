#!/bin/sh
# selftest.sh CC: each lint passes on a small clean tree and fails, with the right words, on the same
# tree with one thing wrong in it. The tree is made here, in a folder of its own.
set -eu
cc=${1:?a C compiler}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/tree
failed=0
checks=0

# A tree with nothing wrong in it.
clean_tree()
{
    rm -rf "$tree"
    mkdir -p "$tree/include" "$tree/base" "$tree/ring" "$tree/profiler/guest" "$tree/schema" \
        "$tree/recorder/run" "$tree/viewer-cli" "$tree/tests"
    cp "$here/../../include/tidemark.h" "$tree/include/"
    echo '#include <stddef.h>' > "$tree/base/error.h"
    printf '#include "error.h"\n' > "$tree/ring/ring.h"
    printf '#include "ring.h"\n' > "$tree/profiler/guest/guest.c"
    printf '#include "error.h"\n#include <sqlite3.h>\n' > "$tree/schema/db.c"
    printf '#include "ring.h"\nint f(void)\n{\n    return 0;\n}\n' > "$tree/recorder/run/drain.c"
    echo 'void f(void);' > "$tree/recorder/run/drain.h"
    printf '#include "drain.h"\n#include "error.h"\n' > "$tree/viewer-cli/main.c"
    cat "$tree"/*/*.[ch] "$tree"/*/*/*.[ch] > "$tree/tests/test_all.c"
}

# expect RESULT WORDS SCRIPT [ARG...]: RESULT is 0 or 1; a failure says WORDS.
expect()
{
    result=$1
    words=$2
    shift 2
    checks=$((checks + 1))
    got=0
    said=$("$@" 2>&1) || got=$?
    case $said in *"$words"*) found=1 ;; *) found=0 ;; esac
    if [ "$got" -ne "$result" ] || [ "$found" -ne 1 ]; then
        failed=$((failed + 1))
        echo "$*: exit $got, expected $result with \"$words\"; it said: $said"
    fi
}

# catches LINT WORDS FILE TEXT: the clean tree passes; with TEXT at the end of FILE it does not.
catches()
{
    lint=$1
    clean_tree
    expect 0 "" sh "$here/$lint.sh" "$tree"
    mkdir -p "$(dirname "$tree/$3")"
    printf '%b\n' "$4" >> "$tree/$3"
    expect 1 "$2" sh "$here/$lint.sh" "$tree"
}

# allows LINT FILE TEXT: the same is right there.
allows()
{
    clean_tree
    mkdir -p "$(dirname "$tree/$2")"
    printf '%b\n' "$3" >> "$tree/$2"
    expect 0 "" sh "$here/$1.sh" "$tree"
}

catches includes "base/ may not see" base/error.h '#include "ring.h"'
catches includes "base/ may not see" base/error.h '#include "../ring/ring.h"'
catches includes "viewer-cli/ may not see" viewer-cli/main.c '#include "ring.h"'
catches includes "recorder/import/ may not see" recorder/import/a.c '#  include "tidemark.h"'
catches includes "recorder/heap/ may not see" recorder/heap/a.c '#include "drain.h"'
catches includes "recorder/state/ may not see" recorder/state/a.c '#include "../run/drain.h"'
catches includes "in no room" recorder/a.c '#include "error.h"'
catches includes "allocator/ may not see" allocator/alloc.c '#include "tidemark.h"'
catches includes "wrap/ may not see" allocator/wrap/a.c '#include "ring.h"'
catches includes "profiler/torch/ may not see" profiler/torch/a.c '#include "drain.h"'
allows includes allocator/wrap/a.c '#include "tidemark.h"'
catches includes "samples/ may not see" samples/a.c '#include "error.h"'
catches includes "only schema/" recorder/run/drain.c '#include <sqlite3.h>'
catches includes "only profiler/" recorder/run/drain.c '#include <cuda.h>'
allows includes tests/bench/rows.c '#include <sqlite3.h>'
allows includes samples/cuda/a.c '#include <cuda.h>'

rooms()
{
    clean_tree
    expect 0 "" sh "$here/includes.sh" "$tree"
    printf '%s\n' "$2" > "$work/rooms.txt"
    expect 1 "$1" sh "$here/includes.sh" "$tree" "$work/rooms.txt"
}
rooms "which does not stand above it" "base: ring"
rooms "stands there twice" "base:
base:"
rooms "in no room" "base:"

printf '%s\n' "$tree/viewer-cli" "$tree/recorder/run" "$tree/schema" "$tree/base" > "$work/paths"
clean_tree
touch "$tree/schema/db.h"
# sees RESULT WORDS ROOMS: what viewer-cli/ may see.
sees()
{
    printf 'base:\nring:\nschema:\nrecorder/run:\nviewer-cli: %s\n' "$3" > "$work/rooms.txt"
    expect "$1" "$2" \
        sh "$here/sees.sh" "$tree" "$cc" viewer-cli "$work/paths" "$work/rooms.txt"
}
sees 0 "headers tried" "recorder/run schema base"
sees 1 "can include schema/db.h" "recorder/run base"
sees 1 "cannot include ring/" "recorder/run ring schema base"

catches banned "strcpy: " viewer-cli/main.c 'void g(char *a) { strcpy(a, "x"); }'
catches banned "sprintf: " recorder/run/drain.c 'void g(char *a) { sprintf(a, "%d", 1); }'
catches banned "system: " viewer-cli/main.c 'int g(void) { return system ("ls"); }'
catches banned "fopen: " profiler/guest/guest.c 'void g(void) { fopen("a", "r"); }'
allows banned viewer-cli/main.c 'void g(void) { fopen("a", "r"); }'
catches banned "atoi: " viewer-cli/main.c 'int g(void) { return /* a */ atoi("1"); }'
catches banned "printf: " recorder/run/drain.c 'void g(void) { printf("\\\\"a\\n"); }'
catches banned "stdout: " base/error.h 'void g(void) { fputs("a", stdout); }'
catches banned "exit: " recorder/run/drain.c 'void g(void) { exit(1); }'
catches banned "malloc: " profiler/guest/guest.c 'void *g(void) { return malloc(1); }'
catches banned "free: " ring/ring.h 'static void g(void *p) { free(p); }'
allows banned recorder/run/drain.c 'void g(void *p) { free(p); }'
allows banned ring/ring.h 'static void g(void) { api->free(0); }\n/* free(p)\n malloc(1) */'
allows banned recorder/run/drain.c 'const char *g(void) { return "exit(1)" " printf(x)"; } // exit(1)'
allows banned viewer-cli/main.c 'int g(void) { printf("%d", 1); exit(1); }'
allows banned recorder/run/drain.c 'void g(void) { my_exit(1); _exit(1); }'

body=$(awk 'BEGIN { for (i = 0; i < 99; i++) printf "    a();\\n" }')
catches lengths "a function of 101 lines" recorder/run/drain.c "void long_one(void)\n{\n$body}"
allows lengths recorder/run/drain.c "void g(void)\n{\n${body#*n}}"
file=$(awk 'BEGIN { for (i = 0; i < 1000; i++) printf "int a%d;\\n", i }')
catches lengths "over 1000" schema/001_facts.sql "$file"
clean_tree
for half in a b; do
    awk 'BEGIN { for (i = 0; i < 800; i++) print "int a;" }' > "$tree/base/$half.c"
done
expect 1 "not under 1600" sh "$here/lengths.sh" "$tree"


# In two pieces, so that the lint does not find it here.
catches words "say 'call site'" viewer-cli/main.c 'static const char t[] = "asked for by";'
catches words "say 'N'" docs/manual/a.md 'so many rows'
catches words "say 'live block'" tests/cli/peak/a.stdout '3 living blocks'
catches words "say 'allocated in'" docs/fit.md 'what is born in forward'
catches words "say 'reported by no source'" NEWS 'and what nobody told of'
catches words "say 'requested'" python/tidemark/a.py 'say("what was asked for")'
catches words "say 'a noun as the heading'" tests/cli/info/a.stdout 'id  what    times'
catches words "say 'a noun as the heading'" docs/a.md '| what | seen |'
allows words docs/a.md '| what it is | what it does | that |'
allows words viewer-cli/main.c '/* asked for by a living block */ int born;'
allows words viewer-cli/main.c 'static const char q[] = "SELECT born in stretches of x";'
catches paths "base/error.h:2" base/error.h "/* /wor""k/main */"
catches paths "docs/a.md:1" docs/a.md "see /roo""t/.config"
allows paths docs/a.md "https://example.org/wor""k/main"

catches links "docs/a.md: nowhere.md" docs/a.md "see [that](nowhere.md#part)"
allows links docs/a.md "[a](../base/error.h) [b](https://example.org/x) [c](#here) [d](a.md)"

catches_header()
{
    clean_tree
    expect 0 "c99" sh "$here/header.sh" "$tree" "$cc"
    echo "$1" >> "$tree/include/tidemark.h"
    expect 1 "not as $2" sh "$here/header.sh" "$tree" "$cc"
}
catches_header 'static int tidemark_unused(void) { return 1; }' c99
catches_header 'inline int tidemark_same(void);;' c11

# commit SUBJECT: one more commit in the tree's own history.
commit()
{
    git -C "$tree" -c user.name=a -c user.email=a@example.org -c commit.gpgsign=false \
        commit -q --no-verify --allow-empty -m "$1"
}

# catches_subject WORDS SUBJECT
catches_subject()
{
    clean_tree
    git -c init.defaultBranch=main init -q "$tree"
    commit "base: Errors and memory"
    commit "viewer-cli/analysis: Two words"
    expect 0 ": 2" sh "$here/commits.sh" "$tree"
    commit "$2"
    commit "base: A good one on top"
    expect 1 "$1" sh "$here/commits.sh" "$tree"
}
if command -v git > /dev/null; then
    catches_subject 'not "area: Subject"' "Fix things"
    catches_subject 'not "area: Subject"' "base: lower case"
    catches_subject "not under 60" \
        "base: A subject that goes on and on until it is sixty letters"
    clean_tree
    expect 77 "not a git checkout" sh "$here/commits.sh" "$tree"
fi

# catches_clang CODE: of a list of one good file and one with this code.
catches_clang()
{
    printf 'int good(void);\nint good(void) { return 1; }\n' > "$work/good.c"
    printf '%s\n' "$1" > "$work/bad.c"
    printf '[{"directory":"%s","file":"%s/good.c","command":"cc -Wall -o good.o -c good.c"}]\n' \
        "$work" "$work" > "$work/compile_commands.json"
    expect 0 "takes: 1" python3 -B "$here/clang.py" "$work" "$work"
    printf '[{"directory":"%s","file":"%s/bad.c","command":"cc -Wall -o bad.o -c bad.c"}]\n' \
        "$work" "$work" > "$work/compile_commands.json"
    expect 1 "bad.c:" python3 -B "$here/clang.py" "$work" "$work"
    echo '[]' > "$work/compile_commands.json"
    expect 1 "takes: 0" python3 -B "$here/clang.py" "$work" "$work"
    rm "$work/compile_commands.json"
    expect 77 "no list of commands" python3 -B "$here/clang.py" "$work" "$work"
}
if command -v clang > /dev/null && command -v python3 > /dev/null; then
    catches_clang '#include <stdbool.h>
bool f(void), g(void), h(void);
bool h(void) { return f() & g(); }'
fi

# A library of two exports, and maps with one name too few and one too many.
printf 'int one(void);\nint two(void);\nint one(void) { return 1; }\nint two(void) { return 2; }\n' \
    > "$work/lib.c"
"$cc" -shared -fPIC -o "$work/lib.so" "$work/lib.c"
printf 'A {\n  global:\n    one; /* first */\n    t*;\n  local:\n    *;\n};\n' > "$work/right.map"
printf 'A { global: one; local: *; };\n' > "$work/few.map"
printf 'A { global: one; two; three; local: *; };\n' > "$work/many.map"
expect 0 "2 symbols" sh "$here/exports.sh" "$work/lib.so" "$work/right.map"
expect 1 "exports two" sh "$here/exports.sh" "$work/lib.so" "$work/few.map"
expect 1 "names three" sh "$here/exports.sh" "$work/lib.so" "$work/many.map"

# A program of this machine is newer than glibc 1.0, and not newer than 99.
printf '#include <stdio.h>\nint main(void) { return puts("a") < 0; }\n' > "$work/prog.c"
"$cc" -o "$work/prog" "$work/prog.c"
expect 0 "imports" sh "$here/glibc.sh" "$work/prog" 99.0
expect 1 "imports puts of glibc 2." sh "$here/glibc.sh" "$work/prog" 1.0
"$cc" -shared -nostdlib -fPIC -o "$work/none.so" "$work/lib.c"
expect 1 "imports nothing" sh "$here/glibc.sh" "$work/none.so" 2.17

if [ "$failed" -ne 0 ]; then
    echo "$failed of $checks checks of the lints failed"
    exit 1
fi
echo "$checks checks: the lints catch what they are for"
