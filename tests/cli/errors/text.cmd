echo "hello" >note.db
tidemark info note.db
