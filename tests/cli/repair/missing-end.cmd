# Of a file that was cut to a third nobody knows how much is missing.
head -c 253952 many.db >cut.db
tidemark repair cut.db >out; echo "exit $?"; tidemark peak cut.repaired.db | tail -1
tidemark info cut.repaired.db | grep -A2 -e ^complete -e ^Lost
tidemark info cut.repaired.db --format csv | grep damaged
tidemark check cut.repaired.db --no-lost --format csv; echo "exit $?"
