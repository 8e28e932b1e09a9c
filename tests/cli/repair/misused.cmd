tidemark repair; echo $?
tidemark repair --check train.db -o new.db; echo $?
