# Without a command: the recordings here; a recording alone is its peak.
mkdir some
cp train.db frag.db silent.db stopped.db some/
cd some
echo text >notes.db
tidemark
tidemark train.db | head -1
tidemark train.db --format csv | head -1
