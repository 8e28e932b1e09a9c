for f in memory_viz collapsed pprof; do tidemark export --to $f empty.db -o x.$f; echo $?; done; ls
