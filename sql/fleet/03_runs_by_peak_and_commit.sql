-- Each run with its commit and the peak of its fullest rank.
WITH highest AS (
    SELECT run, max(allocated) AS bytes FROM peak WHERE device <> 'cpu' GROUP BY run
), about AS (
    SELECT run, min(commit_id) AS commit_of_run, min(started) AS began, count(*) AS processes
      FROM process
     GROUP BY run
)
SELECT a.began, a.run, a.commit_of_run, a.processes, h.bytes
  FROM about a
  JOIN highest h ON h.run = a.run
 ORDER BY a.began, a.run
