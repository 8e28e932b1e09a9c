# Where processes are missing, nothing says that nothing was lost.
tidemark info "$FIXTURES/missing.db" | grep -iE 'lost|could not'
