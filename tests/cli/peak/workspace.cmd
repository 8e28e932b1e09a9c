# What cuBLAS keeps is a category of its own, nothing that the program holds, and has its own lever.
tidemark peak $FIXTURES/workspace.db --all
tidemark peak $FIXTURES/workspace.db --format csv | grep -E 'cuBLAS|drop_held'
