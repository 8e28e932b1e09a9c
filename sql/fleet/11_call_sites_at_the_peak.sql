-- Which call sites hold the most at the peak, over all runs and ranks?
SELECT site, count(*) AS peaks, sum(bytes) AS bytes_in_all, max(bytes) AS most
  FROM peak_by_site
 WHERE device <> 'cpu' AND site IS NOT NULL
 GROUP BY site
 ORDER BY bytes_in_all DESC, site
