tidemark why thinned.db @0.1s..@0.5s
tidemark why thinned.db @0.3s..@0.6s -f json
tidemark why thinned.db @0.2s..@3.005s | sed -n '/^from/,/^allocated/p'
