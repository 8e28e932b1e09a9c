for what in block:3 site:1 site:7 main; do tidemark show -f json train.db $what | python3 -m json.tool > /dev/null && echo valid; done
