# Names inside of a row of instances go on behind it, or from the number on that sets them apart.
tidemark modules apart.db
