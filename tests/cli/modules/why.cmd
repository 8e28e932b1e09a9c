tidemark why gpt.db 0/forward..0/backward; tidemark why gpt.db 0/forward..0/backward --format csv | sed -n '/# groups/,/^$/p' | cut -d, -f 3,8-
