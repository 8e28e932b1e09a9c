for db in pressed train torch ranks silent stopped empty; do
    tidemark fit $db.db --memory 20GiB --table -f json >out || echo "$db: $?"
    python3 -c 'import json, sys; tables = json.load(open("out"))["tables"]
print(sys.argv[1], [(row["address_match"], row["segment_match"]) for row in tables["fit"]],
      [row["verdict"] for row in tables["memory"]])' $db
done
