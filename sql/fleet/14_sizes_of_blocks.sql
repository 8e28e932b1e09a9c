-- How many blocks are small, and what do they add up to?
WITH classed AS (
    SELECT run, size,
           CASE WHEN size <= 1048576 THEN 'to 1 MiB'
                WHEN size <= 10485760 THEN 'to 10 MiB' ELSE 'above' END AS class
      FROM allocations
     WHERE device <> 'cpu'
)
SELECT run, class, count(*) AS blocks, sum(size) AS bytes, max(size) AS largest
  FROM classed
 GROUP BY run, class
 ORDER BY run, class
