tidemark fit versions.db --torch 2.14 -f json | python3 -c 'import json, sys; print(*json.load(sys.stdin)["tables"]["torch"], sep="\n")'
