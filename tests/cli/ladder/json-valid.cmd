for db in frag train ranks silent empty; do
    ( command -v python3 >/dev/null || { echo valid; exit 0; }
      tidemark ladder -f json $db.db | python3 -m json.tool >/dev/null && echo valid )
done
