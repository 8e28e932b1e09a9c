# Host memory alone, no call stacks, nothing but the driver's, nothing at all.
for db in workers silent plain empty stopped; do
    echo "== $db"
    tidemark peak $db.db | head -24
done
