# What follows the command belongs to it, options and "--" too.
tidemark record -o run.db printf '%s|' --help -o x -- --wait 2>/dev/null
echo
tidemark record -o run2.db -- printf '%s|' -- --help 2>/dev/null
