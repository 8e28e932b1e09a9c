-- In which phase is the peak, and is that the same in every run?
SELECT phase, count(*) AS peaks, count(DISTINCT run) AS runs, max(allocated) AS most
  FROM peak
 WHERE device <> 'cpu'
 GROUP BY phase
 ORDER BY peaks DESC, phase
