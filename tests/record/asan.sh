#!/bin/sh
# A program built with AddressSanitizer: its runtime refuses to run behind a preloaded library.
. "$(dirname "$0")/lib.sh"
[ -x "$programs/prog_asan" ] || { echo "the compiler has no AddressSanitizer"; exit 77; }

"$programs/prog_asan" exit 3 >out 2>err
[ $? -eq 3 ] || { echo "a program of AddressSanitizer does not run here"; exit 77; }

record -- "$programs/prog_asan" alloc 5 exit 3
is $status 3 "a program with AddressSanitizer"
finished
is "$(ask 'SELECT live, events, exit_code FROM process')" "api|5|3" "its row"

record -- sh -c "$programs/prog_asan alloc 5 exit 3; exit 4"
is $status 4 "one that another program starts"
is "$(ask 'SELECT max(events) FROM process')" 5 "its events"

ASAN_OPTIONS=exitcode=9 record -- "$programs/prog_asan" raise 11
is $status 9 "the user's own ASAN_OPTIONS"
grep -q "AddressSanitizer:DEADLYSIGNAL" err || is "$(cat err)" "a report" "what the sanitizer says"
end_of_tests
