tidemark record -o nowhere/run.db -- true
