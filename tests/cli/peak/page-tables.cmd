# Each table has an option of its own.
for table in where findings levers ladder kinds phases sites backward change running; do
    echo "== $table"
    tidemark peak train.db --$table | sed -n 2,5p
done
