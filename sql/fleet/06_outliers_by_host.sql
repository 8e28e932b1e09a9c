-- On which machine are ranks that need more or less than the others? An outlier is more than 5 % away
-- from the median rank of its run.
-- Of runs with a GPU its memory counts, of others the CPU's (counted).
WITH counted AS (
    SELECT run, device
      FROM (SELECT run, device,
                   max(CASE WHEN device = 'cpu' THEN 0 ELSE 1 END) OVER (PARTITION BY run) AS gpu
              FROM (SELECT DISTINCT run, device FROM peak) d) e
     WHERE device <> 'cpu' OR gpu = 0
), of_rank AS (
    SELECT k.run AS run, k.rank AS rank, p.host AS host, max(k.allocated) AS bytes
      FROM peak k
      JOIN counted c ON c.run = k.run AND c.device = k.device
      JOIN process p ON p.run = k.run AND p.rank = k.rank AND p.process = k.process
     GROUP BY k.run, k.rank, p.host
), placed AS (
    SELECT run, bytes, row_number() OVER (PARTITION BY run ORDER BY bytes, rank, host) AS place,
           count(*) OVER (PARTITION BY run) AS ranks
      FROM of_rank
), middle AS (
    SELECT run, max(bytes) AS bytes FROM placed WHERE place = floor((ranks + 1) / 2.0) GROUP BY run
), judged AS (
    SELECT r.run, r.host, r.rank, r.bytes, m.bytes AS median_bytes,
           CASE WHEN 20 * abs(r.bytes - m.bytes) > m.bytes THEN 1 ELSE 0 END AS outlier
      FROM of_rank r
      JOIN middle m ON m.run = r.run
)
SELECT run, host, count(*) AS ranks, sum(outlier) AS outliers,
       min(CASE WHEN outlier = 1 THEN rank END) AS first_outlier, min(bytes) AS least,
       max(bytes) AS most, max(median_bytes) AS median_of_run
  FROM judged
 GROUP BY run, host
 ORDER BY outliers DESC, run, host
