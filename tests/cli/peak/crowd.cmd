# Of very many processes the ones with the most memory are shown, of those with the same the first;
# asked for, each is there, and programs get all.
tidemark peak crowd.db --all | sed -n '/^Peak of/p; /highest/p'
tidemark peak crowd.db --all --process 2 | head -2
tidemark peak crowd.db -f csv | sed -n '/^# peak/,/^$/p' | grep -c virtual:0
tidemark why crowd.db @600ns..end | grep highest
tidemark ladder crowd.db | grep highest
tidemark diff crowd.db crowd.db | grep -c "^Difference"
tidemark diff crowd.db workers.db | tail -3
