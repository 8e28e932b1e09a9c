for r in phases peak info sql; do tidemark $r "" "SELECT 1" 2>&1 | head -1; tidemark $r ""; echo $?; done
