tidemark peak -z train.db
