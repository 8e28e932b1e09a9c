tidemark record -- true 2>/dev/null
ls | sed -n 's/^tidemark\.[0-9]\{8\}-[0-9]\{6\}-[0-9]*\.db$/named by date, time and pid/p'
tidemark phases 2>said | head -n 1
sed 's/tidemark\.[0-9].*/FILE/' said
