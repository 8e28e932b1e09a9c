tidemark frag frag.db 9; echo $?; tidemark frag silent.db; echo $?
tidemark frag frag.db --steps 7; echo $?
