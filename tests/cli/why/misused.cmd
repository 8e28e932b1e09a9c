tidemark why 0..x; tidemark why train.db other.db; tidemark why 1..2 3..4
