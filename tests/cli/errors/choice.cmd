tidemark phases --format tabel train.db
