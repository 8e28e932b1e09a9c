tidemark info .
