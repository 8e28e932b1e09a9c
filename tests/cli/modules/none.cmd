tidemark modules train.db; tidemark modules empty.db
