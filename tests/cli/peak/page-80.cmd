# The page that a person sees first: it fits.
COLUMNS=80 NO_COLOR=1 script -qec 'tidemark peak train.db' /dev/null | tr -d '\r' >out
cat out
[ $(wc -l <out) -le 24 ] || echo too long
