# One step is the step and the one before; an open end is the end.
tidemark why train.db 1 >one; tidemark why train.db 0..1 | cmp one - && echo same
tidemark why train.db 0.. >open; tidemark why train.db 0..end | cmp open - && echo same
tidemark why train.db 0
