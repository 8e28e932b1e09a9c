# The one that began last, whatever its name and its date; what is no recording does not count.
cp train.db tidemark.b.db
cp ranks.db tidemark.a.db
cp silent.db tidemark.c.db
touch -d 2001-01-01 tidemark.a.db
echo text >tidemark.z.db
tidemark sql "SELECT count(*) AS processes FROM process"
