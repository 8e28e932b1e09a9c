tidemark check ranks.db --max-peak 20G --no-oom --no-lost; echo $?; tidemark check ranks.db --max-peak 20G --rank 1 --allow-unknown
