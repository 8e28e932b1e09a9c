# What is missing has no number: reports say from where on, and at most how many blocks.
dd if=/dev/zero of=many.db bs=4096 seek=62 count=1 conv=notrunc 2>/dev/null
tidemark repair many.db >out; echo "exit $?"; tidemark peak many.repaired.db | tail -1
tidemark info many.repaired.db | grep -A2 -e ^complete -e ^Lost
tidemark check many.repaired.db --no-lost --max-peak 1GiB; echo "exit $?"
tidemark sql many.repaired.db "SELECT * FROM lost" --format csv
