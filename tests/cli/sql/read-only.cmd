tidemark sql train.db "DELETE FROM meta"
echo $?
tidemark sql train.db "SELECT count(*) AS n FROM meta"
