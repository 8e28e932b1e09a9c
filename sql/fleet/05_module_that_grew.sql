-- Which module holds more at the peak than in the run before, in the rank where it holds most?
WITH about AS (
    SELECT run, min(started) AS began FROM process GROUP BY run
), in_order AS (
    SELECT run, row_number() OVER (ORDER BY began, run) AS place FROM about
), held AS (
    SELECT run, module, max(bytes) AS most
      FROM module_memory
     WHERE module IS NOT NULL
     GROUP BY run, module
)
SELECT o.run, h.module, g.most AS before_bytes, h.most AS now_bytes, h.most - g.most AS rise
  FROM in_order o
  JOIN held h ON h.run = o.run
  JOIN in_order p ON p.place = o.place - 1
  JOIN held g ON g.run = p.run AND g.module = h.module
 WHERE h.most > g.most
 ORDER BY rise DESC, o.run, h.module
