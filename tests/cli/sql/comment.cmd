tidemark sql train.db "-- how many
SELECT count(*) AS n FROM allocation"
tidemark sql "--nothing"
