# No recording of a default name, but others: the newest of them is named.
mkdir one
cp train.db one/run1.db
(cd one && tidemark peak; echo $?)
echo text >one/note.db
cp ranks.db one/run2.db
(cd one && tidemark why; echo $?)
