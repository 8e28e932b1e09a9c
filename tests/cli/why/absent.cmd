tidemark why train.db 0..9; echo $?; tidemark why train.db 0..1/encode -f csv; echo $?
tidemark why train.db @1ns..end; echo $?
