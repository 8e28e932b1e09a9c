# The page of a peak names holders by module, those of no module by call site.
COLUMNS=80 NO_COLOR=1 script -qec 'tidemark peak gpt.db' /dev/null | tr -d '\r' >out
cat out
[ $(wc -l <out) -le 24 ] || echo too long
tidemark peak gpt.db --top 40 | sed -n '/held  kind/,/^$/p'
