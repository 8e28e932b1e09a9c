tidemark diff before.db after.db --moment 3/forward; echo $?
tidemark diff before.db after.db --steps 3; echo $?
