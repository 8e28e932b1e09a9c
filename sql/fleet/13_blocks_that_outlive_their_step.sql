-- Which call sites leave blocks behind that are freed in a later step, and how many bytes is that?
SELECT run, site, count(*) AS blocks, sum(size) AS bytes, max(freed_step - step) AS longest
  FROM allocations
 WHERE freed_step > step AND device <> 'cpu' AND site IS NOT NULL
 GROUP BY run, site
 ORDER BY bytes DESC, run, site
