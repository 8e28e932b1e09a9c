tidemark why thinned.db 100..690
