cp train.db tidemark.1.db
tidemark sql "SELECT count(*) AS n FROM allocation"
