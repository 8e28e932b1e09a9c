def check_all(tidemark, path, db):
    pass
