tidemark ladder frag.db 9; echo $?; tidemark ladder silent.db; echo $?
tidemark ladder frag.db --steps 7; echo $?; tidemark ladder frag.db @1ns -f json; echo $?
