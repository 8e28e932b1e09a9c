for db in train ranks silent empty; do
    for by in none category; do
        ( command -v python3 >/dev/null || { echo valid; exit 0; }
          tidemark timeline -f json --bytes-by $by $db.db | python3 -m json.tool >/dev/null && echo valid )
    done
done
