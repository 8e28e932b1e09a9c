#!/bin/sh
# Names that change hands while somebody records: moved, removed, used again, cut short.
. "$(dirname "$0")/lib.sh"

# begin NAME N [FILE]: a recorder whose program has made N blocks and waits; its pid is in $NAME.
begin() {
    rm -f "$1.out"
    "$programs/record_driver" -o "${3:-run.db}" -g "$guest" -- "$story" churn "$2" catch 12 \
        churn 50 exit 7 >"$1.out" 2>"$1.err" 9>&- &
    eval "$1=$!"
    wait_until grep -q ready "$1.out" || is no yes "$1 has begun"
}

# committed N [FILE]: so many blocks are in the file, for everybody.
committed() {
    wait_until sh -c "[ \"\$(sqlite3 -readonly ${2:-run.db} 'SELECT count(*) FROM allocation')\" = $1 ]" ||
        is no "$1" "committed"
}

# end NAME: its program goes on to its end; what it said is in err.
end() {
    eval "pid=\$$1"
    kill -12 $(children "$pid")
    wait "$pid"
    is $? 7 "exit status of $1"
    cp "$1.err" err
}

# sound FILE N: one whole file with N blocks.
sound() {
    whole "$1"
    is "$(ask 'SELECT count(*) FROM allocation' "$1")" "$2" "blocks of $1"
    is "$(ask "SELECT value FROM meta WHERE key='finished'" "$1")" 1 "meta.finished of $1"
}

# leaves FILES: there are these databases and logs, and no others.
leaves() {
    is "$(find . -name '*.db*' | sed 's,^\./,,' | LC_ALL=C sort | tr '\n' ' ')" "$1 " "what is left"
    rm -rf ./*.db* new
}

# A reader that stays open: a shell, a notebook. It holds no transaction, but the file.
mkfifo hold
reader_begins() {
    sqlite3 "$1" >read <hold &
    reader=$!
    exec 9>hold
    echo "SELECT count(*) FROM allocation;" >&9
    wait_until grep -q . read || is no yes "the reader reads"
}
reader_ends() {
    exec 9>&-
    wait $reader
}

# Removed and used again; the first ends last, then the second does.
for order in "a b" "b a"; do
    begin a 100
    rm run.db
    begin b 200
    for one in $order; do
        end $one
        if [ $one = a ]; then
            says "all of it is lost: run.db was replaced by another file while the program ran"
            is "$(grep -c 'recorded into\|next: tidemark\|nothing was lost' err)" 0 "claims of a"
        else
            says "recorded into run.db"
            says "nothing was lost"
        fi
    done
    sound run.db 250
    leaves run.db
done

# Moved and used again.
for order in "a b" "b a"; do
    begin a 100
    mv run.db old.db
    begin b 200
    for one in $order; do
        end $one
        says "nothing was lost"
        if [ $one = a ]; then
            says "recorded into .*/old.db"
            says "run.db was moved to .*/old.db while the program ran"
            says "run.db is another file by now"
            says "next: tidemark peak .*/old.db"
        fi
    done
    sound old.db 150
    sound run.db 250
    leaves "old.db run.db"
done

# Moved, alone and with its folder.
begin a 100
mv run.db other.db
end a
says "recorded into .*/other.db"
is "$(grep -c 'another file\|there is no recording\|is lost' err)" 0 "what a moved file is not"
sound other.db 150
leaves other.db
mkdir folder && cd folder || exit 99
begin a 100
cd .. && mv folder new
cd new && end a
cd .. || exit 99
cp new/err err
says "run.db was moved to .*/new/run.db while the program ran"
sound new/run.db 150
is "$(ls new | grep -c 'wal\|shm')" 0 "logs in the moved folder"
leaves new/run.db

# Moved while somebody reads it: the log goes with it.
begin a 100
committed 100
reader_begins run.db
echo "BEGIN; SELECT count(*) FROM allocation;" >&9
wait_until sh -c '[ $(grep -c 100 read) = 2 ]'
mv run.db other.db
end a
says "another program reads the file: its log (.*/other.db-wal) stays beside it"
is "$(ask 'SELECT count(*) FROM allocation' other.db)" 150 "blocks, with a reader"
is "$(ls | grep -c 'run.db')" 0 "what lies under the old name"
reader_ends
rm -f ./*.db*

# A reader of a file that has ended holds it; its name is used again, and the reader goes.
begin a 100
reader_begins run.db
end a
says "another program reads the file"
rm run.db
begin b 200
reader_ends
committed 200
end b
sound run.db 250
leaves run.db

# Moved over the recording of a recorder that was killed, or goes on: nothing of that one gets into it.
for fate in killed alive; do
    begin a 100 other.db
    committed 100 other.db
    if [ $fate = killed ]; then
        program=$(children $a)
        kill -9 $a
        wait $a 2>/dev/null
        kill -9 $program
    fi
    begin b 200
    mv run.db other.db
    end b
    says "recorded into .*/other.db"
    says "nothing was lost"
    sound other.db 250
    if [ $fate = alive ]; then
        end a
        says "all of it is lost: other.db was replaced by another file while the program ran"
        is "$(grep -c 'recorded into\|next: tidemark\|nothing was lost' err)" 0 "claims of a"
        sound other.db 250
    fi
    leaves other.db
done

# A recorder that was killed leaves a log, and somebody removes the file alone.
begin a 100
committed 100
program=$(children $a)
kill -9 $a
wait $a 2>/dev/null
kill -9 $program
rm run.db
begin b 200
end b
sound run.db 250
leaves run.db

# ---- cut short ----

begin a 100
committed 100
: >run.db-shm
end a
says "nothing was lost"
sound run.db 150
leaves run.db

begin a 100
committed 100
: >run.db-wal
end a
says "0 events .* were stored, then the recording stopped: the log run.db-wal was cut short"
is "$(grep -c 'nothing was lost' err)" 0 "claims after a cut log"
whole
leaves run.db

begin a 100
committed 100
: >run.db
end a
says "were stored, then the recording stopped: run.db was cut short by another program"
says "nothing is left of it"
is "$(grep -c 'nothing was lost' err)" 0 "claims after a cut file"
rm -f ./*.db*

begin a 100
committed 100
truncate -s 8192 run.db
end a
says "were stored, then the recording stopped: run.db was cut short by another program"
says "what is left of it can be read by tidemark repair"
is "$(grep -c 'nothing was lost' err)" 0 "claims after a cut file"
rm -f ./*.db*

# ---- nobody may read what is made, as the umask says ----

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    chmod 711 . && mkdir nobody && chown 65534 nobody
    (umask 777 && cd nobody && setpriv --reuid 65534 --clear-groups \
        "$programs/record_driver" -o run.db -g "$guest" -- "$story" alloc 3) >out 2>err
elif [ "$(id -u)" != 0 ]; then
    mkdir nobody
    (umask 777 && cd nobody && "$programs/record_driver" -o run.db -g "$guest" -- "$story" alloc 3) \
        >out 2>err
fi
if [ -d nobody ]; then
    says "recorded into run.db"
    is "$(stat -c %a nobody/run.db)" 600 "mode under umask 777"
fi
end_of_tests
