-- Between which two runs, in the order in which they began, did the peak rise the most?
WITH highest AS (
    SELECT run, max(allocated) AS bytes FROM peak WHERE device <> 'cpu' GROUP BY run
), about AS (
    SELECT run, min(commit_id) AS commit_of_run, min(started) AS began FROM process GROUP BY run
), in_order AS (
    SELECT a.began, a.run, a.commit_of_run, h.bytes,
           row_number() OVER (ORDER BY a.began, a.run) AS place
      FROM about a
      JOIN highest h ON h.run = a.run
)
SELECT b.run, b.commit_of_run, a.run AS run_before, a.commit_of_run AS commit_before,
       b.bytes - a.bytes AS rise
  FROM in_order b
  JOIN in_order a ON a.place = b.place - 1
 ORDER BY rise DESC, b.run
