for f in memory_viz perfetto chrome pprof speedscope collapsed csv; do tidemark export --to $f train.db; done; ls
