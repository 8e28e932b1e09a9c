# A recording that is damaged has a row; so has what repair saved of it, here without a block.
mkdir some
cp train.db some/
head -c 60000 train.db >some/cut.db
head -c 60 train.db >some/stub.db
head -c 4096 /dev/zero >some/zeros.db
cd some
touch -d 2026-01-01 cut.db
touch -d 2026-01-02 stub.db
tidemark
rm stub.db
tidemark repair cut.db >/dev/null
tidemark
rm train.db cut.repaired.db
tidemark
