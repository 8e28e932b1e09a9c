for f in memory_viz collapsed; do tidemark export --to $f plain.db -o x.$f; echo $?; done; tidemark export --to chrome plain.db -o - | grep -c "driver bytes"
