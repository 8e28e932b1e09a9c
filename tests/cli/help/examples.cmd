# Every command is in the overview, has help within 80 columns, and its examples name commands.
commands=$(tidemark --help | sed -n 's/^  \([a-z]*\)  *[a-z].*/\1/p' | grep -v tidemark)
for command in $commands; do
    tidemark help "$command" >text || echo "$command: no help"
    awk -v c="$command" 'length > 79 { print c ": long line: " $0 }' text
    sed -n 's/^  tidemark \([a-z]*\).*/\1/p' text | while read -r used; do
        tidemark help "$used" >/dev/null || echo "$command: its example uses $used"
    done
done
echo $commands
