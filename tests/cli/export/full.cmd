tidemark export --to csv train.db -o /dev/full; echo $?; tidemark export --to collapsed train.db -o /no/folder/x; echo $?
