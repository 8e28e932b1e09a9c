tidemark record --wait nobody -- true
