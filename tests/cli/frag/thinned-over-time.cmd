tidemark frag reserved.db --over-time --steps 1..6
tidemark frag reserved.db --over-time --steps 4..8 -f csv
tidemark frag reserved.db --over-time --steps 0..2 | tail -1
tidemark frag reserved.db --over-time --steps 4..6
tidemark frag reserved.db --over-time | tail -1
tidemark frag reserved.db --over-time --steps 20..30; echo $?
tidemark frag thinned.db --over-time --steps 40..50
