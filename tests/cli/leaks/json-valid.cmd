tidemark leaks leaks.db --format json | python3 -m json.tool > /dev/null && echo valid
