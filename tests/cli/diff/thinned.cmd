tidemark diff thinned.db before.db --moment @0.5s
tidemark diff before.db thinned.db --moment @0.5s -f json
tidemark diff thinned.db thinned.db --moment 100; echo $?
tidemark diff before.db thinned.db --moment 100; echo $?
tidemark diff thinned.db thinned.db --steps 100..102; echo $?
tidemark diff thinned.db thinned.db --steps 25..40 | tail -1
tidemark diff thinned.db thinned.db --steps 800..802; echo $?
