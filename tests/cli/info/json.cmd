tidemark info ranks.db -f json | sed 's/"bytes": [0-9]*/"bytes": 0/' 
