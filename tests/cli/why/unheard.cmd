tidemark why unheard.db 0/forward..0/backward | tail -n 2
tidemark why unheard.db 0/forward..0/forward | tail -n 2
