tidemark peak thinned.db --all --steps 25..40 | sed -n '2,3p;$p'
tidemark peak thinned.db --all --steps 299..301 | sed -n '2,3p;$p'
tidemark peak thinned.db --all --steps 40..50
tidemark peak thinned.db -f csv | tail -1
