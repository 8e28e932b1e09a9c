tidemark xyzzy
