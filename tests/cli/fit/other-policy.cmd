# The addresses of this one were made up.
tidemark fit train.db --memory 4200MiB
