tidemark why thinned.db --steps 40..50
tidemark why thinned.db --steps 29..40
tidemark why thinned.db --steps 25..40
tidemark why thinned.db --steps 20..29 | tail -1
tidemark why thinned.db --steps 800..900; echo $?
