tidemark diff before.db nosuch.db; echo $?; tidemark diff nosuch.db before.db; echo $?; echo text >text.db; tidemark diff before.db text.db
