# Each report begins with the device that matters: CUDA before the host, and the fuller one first.
db=$FIXTURES/three.db
for report in peak phases timeline leaks fit frag ladder info; do
    printf '%s: ' "$report"
    tidemark "$report" "$db" --format json |
        sed -n 's/.*"device": "\([^"]*\)".*/\1/p' | uniq | tr '\n' ' '
    echo
done
printf 'why: '
tidemark why "$db" --format json | sed -n 's/.*"device": "\([^"]*\)".*/\1/p' | uniq | tr '\n' ' '
printf '\ndiff: '
tidemark diff "$db" "$db" --format json | sed -n 's/.*"device": "\([^"]*\)".*/\1/p' | uniq | tr '\n' ' '
printf '\ncheck: '
tidemark check "$db" --max-growth 1GiB --format json | sed -n 's/.*"device": "\([^"]*\)".*/\1/p' | uniq |
    tr '\n' ' '
echo
tidemark peak "$db" --device cuda:7 2>&1
tidemark peak "$db" --device cuda:0 --format json | grep -c '"cuda:1"' || true
