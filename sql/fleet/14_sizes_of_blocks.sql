-- How many blocks are small, and what do they add up to?
-- Of runs with a GPU its memory counts, of others the CPU's (counted).
WITH counted AS (
    SELECT run, device
      FROM (SELECT run, device,
                   max(CASE WHEN device = 'cpu' THEN 0 ELSE 1 END) OVER (PARTITION BY run) AS gpu
              FROM (SELECT DISTINCT run, device FROM peak) d) e
     WHERE device <> 'cpu' OR gpu = 0
), classed AS (
    SELECT a.run, a.size,
           CASE WHEN a.size <= 1048576 THEN 'to 1 MiB'
                WHEN a.size <= 10485760 THEN 'to 10 MiB' ELSE 'above' END AS class
      FROM allocations a
      JOIN counted c ON c.run = a.run AND c.device = a.device
)
SELECT run, class, count(*) AS blocks, sum(size) AS bytes, max(size) AS largest
  FROM classed
 GROUP BY run, class
 ORDER BY run, class
