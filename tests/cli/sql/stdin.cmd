echo 'SELECT count(*) AS n FROM allocation' | tidemark sql train.db -
