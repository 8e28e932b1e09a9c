tidemark record -o train.db -- true
