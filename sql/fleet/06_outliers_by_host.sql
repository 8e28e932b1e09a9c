-- Do the ranks of one machine need more than those of the others?
WITH of_rank AS (
    SELECT k.run, k.rank, k.process, max(k.allocated) AS bytes
      FROM peak k
     WHERE k.device <> 'cpu'
     GROUP BY k.run, k.rank, k.process
), mean_of_all AS (
    SELECT run, 1.0 * sum(bytes) / count(*) AS mean_bytes FROM of_rank GROUP BY run
)
SELECT r.run, p.host, count(*) AS ranks, max(r.bytes) AS most,
       floor(100000.0 * sum(r.bytes) / count(*) / min(m.mean_bytes)) / 1000 AS percent_of_mean
  FROM of_rank r
  JOIN process p ON p.run = r.run AND p.rank = r.rank AND p.process = r.process
  JOIN mean_of_all m ON m.run = r.run
 GROUP BY r.run, p.host
 ORDER BY percent_of_mean DESC, r.run, p.host
