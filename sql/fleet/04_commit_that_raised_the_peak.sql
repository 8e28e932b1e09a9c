-- Which commit of a program raised its peak the most? A program is what has one command line. Its
-- commits come in the order in which they ran first, each with its highest run; a run without a
-- commit stands for itself.
-- Of runs with a GPU its memory counts, of others the CPU's (counted).
WITH counted AS (
    SELECT run, device
      FROM (SELECT run, device,
                   max(CASE WHEN device = 'cpu' THEN 0 ELSE 1 END) OVER (PARTITION BY run) AS gpu
              FROM (SELECT DISTINCT run, device FROM peak) d) e
     WHERE device <> 'cpu' OR gpu = 0
), highest AS (
    SELECT k.run, max(k.allocated) AS bytes
      FROM peak k
      JOIN counted c ON c.run = k.run AND c.device = k.device
     GROUP BY k.run
), about AS (
    SELECT run, coalesce(min(command), '') AS program, coalesce(min(commit_id), run) AS of_release,
           min(started) AS began
      FROM process
     GROUP BY run
), of_commits AS (
    SELECT a.program, a.of_release, min(a.began) AS began, count(*) AS runs, max(h.bytes) AS bytes
      FROM about a
      JOIN highest h ON h.run = a.run
     GROUP BY a.program, a.of_release
), in_order AS (
    SELECT program, of_release, runs, bytes,
           row_number() OVER (PARTITION BY program ORDER BY began, of_release) AS place
      FROM of_commits
)
SELECT b.program, b.of_release AS raised_by, a.of_release AS commit_before, b.runs,
       a.bytes AS before_bytes, b.bytes AS now_bytes, b.bytes - a.bytes AS rise
  FROM in_order b
  JOIN in_order a ON a.program = b.program AND a.place = b.place - 1
 ORDER BY rise DESC, b.program, raised_by
