# Without a command: the recordings here; a recording alone is its peak.
mkdir some
cp train.db frag.db silent.db stopped.db some/
cd some
echo text >notes.db
tidemark
tidemark train.db | head -1
tidemark train.db --format csv | head -1
# Of two programs nothing is compared.
sqlite3 train.db "UPDATE process SET argv = 'torchrun --nproc-per-node 2 other.py --lr 1'"
rm silent.db stopped.db notes.db
tidemark | tail -3
sqlite3 frag.db "UPDATE process SET argv = 'python3 other.py'"
tidemark | tail -3
