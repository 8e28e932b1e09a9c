echo mine > train.collapsed; tidemark export --to collapsed train.db; cat train.collapsed
