for db in gpt train ranks silent empty; do
    ( command -v python3 >/dev/null || { echo valid; exit 0; }
      tidemark modules -f json $db.db | python3 -m json.tool >/dev/null && echo valid )
done
