tidemark diff before.db after.db --format json | python3 -m json.tool > /dev/null && echo valid
