tidemark help peek
