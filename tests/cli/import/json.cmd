echo '{"segments": []}' > s.json
tidemark import s.json -o run.db
