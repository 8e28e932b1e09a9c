# On terminals of three widths, with colours, and piped: no line is wider than the terminal.
for width in 80 120 160; do
    echo "=== $width columns"
    COLUMNS=$width NO_COLOR=1 script -qec 'tidemark modules gpt.db' /dev/null | tr -d '\r' >out
    cat out
    [ $(wc -L <out) -le $width ] || echo "a line is too wide"
done
echo "=== 80 columns, colours"
COLUMNS=80 TERM=xterm script -qec 'tidemark modules gpt.db' /dev/null | tr -d '\r' | cat -v
echo "=== piped"
tidemark modules gpt.db | cat
