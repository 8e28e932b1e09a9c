# The reader is gone before anything is written: exit 4, and not a word.
for words in "--help" "peak train.db" "sql train.db -f csv SELECT(1)"; do
    { sleep 0.2; tidemark $words; echo $? >status; } | :
    cat status
done
