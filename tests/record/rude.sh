#!/bin/sh
# Programs that speak to the recorder badly, or write over what they share with it: they harm no
# recording but their own.
. "$(dirname "$0")/lib.sh"
rude=$programs/prog_rude

record -- sh -c "$rude garbage 500; $rude silent; exec $story alloc 5 exit 3"
is $status 3 "garbage"
finished
is "$(ask 'SELECT max(events) FROM process')" 5 "events beside garbage"
is "$(ask "SELECT sum(value) > 400 FROM overhead WHERE what='hellos malformed'")" 1 "garbage is counted"

# Two rings without a hello between: two images.
record -- "$rude" twice
is $status 0 "two rings"
finished
is "$(ask 'SELECT origin, ended FROM process ORDER BY id')" "$(printf 'root|exec\nexec|exit')" "two images"

n=0
while [ $n -lt "$rounds" ]; do
    record -b 8 -- sh -c "$rude scribble $n & $story churn 3000 exit 3; wait; exit 4"
    is $status 4 "scribble $n"
    finished
    is "$(ask "SELECT ended, exit_code, events FROM process WHERE argv LIKE '%prog_story%'
        AND argv NOT LIKE '%sh -c%'")" "exit|3|6000" "events beside a scribbled ring, $n"
    [ $failures -eq 0 ] || break
    n=$((n + 1))
done
end_of_tests
