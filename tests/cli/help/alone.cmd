# Without a command: the recordings here; a recording alone is its peak.
mkdir some
cp train.db frag.db silent.db stopped.db some/
cd some
echo text >notes.db
tidemark
tidemark train.db | head -1
tidemark train.db --format csv | head -1
tidemark --color=always | cat -v | grep recording
tidemark --color=always train.db | head -1 | cat -v
# A file that is not there, whatever it is called; a recording of another name.
tidemark hf.dbx 2>&1
cp train.db train.sqlite
tidemark train.sqlite | head -1
# Of two programs nothing is compared.
sqlite3 train.db "UPDATE process SET argv = 'torchrun --nproc-per-node 2 other.py --lr 1'"
rm silent.db stopped.db notes.db
tidemark | tail -3
sqlite3 frag.db "UPDATE process SET argv = 'python3 other.py'"
tidemark | tail -3
# One that grows, and names that differ at their ends alone, on a terminal.
mkdir ../grown
cd ../grown
cp ../leaks.db ../train.db .
mv train.db convolutions_with_half_precision_and_half_the_batch_a.db
cp convolutions_with_half_precision_and_half_the_batch_a.db convolutions_with_half_precision_and_half_the_batch_b.db
tidemark
