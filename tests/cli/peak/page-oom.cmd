# It is about the refused request, or has a line about one that the run survived.
for db in limit frag; do
    COLUMNS=80 NO_COLOR=1 script -qec "tidemark peak $db.db" /dev/null | tr -d '\r' >out
    cat out
    [ $(wc -l <out) -le 24 ] || echo too long
done
