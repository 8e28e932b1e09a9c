printf 'max-peak = 1G\n\nmax-peek = 2G\n' >one; tidemark check train.db --limits one; echo $?
printf '# all is well\nmax-peak: 1G\n' >two; tidemark check train.db --limits two; echo $?
printf 'no-oom\n' >three; tidemark check train.db --limits three; echo $?
printf 'max-fragmentation = a lot\n' >four; tidemark check train.db --limits four; echo $?
: >five; tidemark check train.db --limits five; echo $?
tidemark check train.db --limits six; echo $?
tidemark check train.db --limits .
