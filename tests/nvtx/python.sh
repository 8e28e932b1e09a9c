#!/bin/sh
# python.sh PROGRAMS GUEST PYTHON SCRIPT: ranges of NVIDIA's package for Python, if it is installed.
python=$3
script=$4
. "$(dirname "$0")/../record/lib.sh"
"$python" -c "import nvtx" 2>/dev/null || { echo "Python has no package nvtx"; exit 77; }

record -- "$python" "$script"
is $status 0 "the script"
is "$(ask "SELECT kind, name, step, coalesce(domain, '-') FROM phase WHERE kind <> 'other' AND step NOT NULL
    AND step < 2")" "$(printf 'forward|forward|0|-\nbackward|backward|0|-\nforward|forward|1|-\nbackward|backward|1|-')" \
    "the program's own"
is "$(ask "SELECT count(*), min(name), min(scope) FROM phase WHERE domain = 'loader'")" "3|gather|thread" "a domain"
is "$(ask "SELECT name FROM phase WHERE scope = 'range'")" free "a range that need not nest"
is "$(ask "SELECT kind, name FROM phase WHERE kind = 'eval' OR name = 'decorated'")" \
    "$(printf 'user|decorated\neval|eval')" "a decorator, and a push"
is "$(ask "SELECT name, value FROM mark WHERE domain IS NULL")" "here|12" "a mark"
end_of_tests
