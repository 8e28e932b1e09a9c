-- Which modules hold more at the peak than in the release before, or are new? A release is a commit
-- of a program (one command line), in the order in which they ran first; a run without a commit
-- stands for itself. Each module counts in the rank and the run where it holds most.
-- Of runs with a GPU its memory counts, of others the CPU's (counted).
WITH counted AS (
    SELECT run, device
      FROM (SELECT run, device,
                   max(CASE WHEN device = 'cpu' THEN 0 ELSE 1 END) OVER (PARTITION BY run) AS gpu
              FROM (SELECT DISTINCT run, device FROM peak) d) e
     WHERE device <> 'cpu' OR gpu = 0
), about AS (
    SELECT run, coalesce(min(command), '') AS program, coalesce(min(commit_id), run) AS of_release,
           min(started) AS began
      FROM process
     GROUP BY run
), held AS (
    SELECT a.program AS program, a.of_release AS of_release, m.module AS module, max(m.bytes) AS most
      FROM module_memory m
      JOIN counted c ON c.run = m.run AND c.device = m.device
      JOIN about a ON a.run = m.run
     WHERE m.module IS NOT NULL
     GROUP BY a.program, a.of_release, m.module
), releases AS (
    SELECT h.program, h.of_release, min(a.began) AS began
      FROM (SELECT DISTINCT program, of_release FROM held) h
      JOIN about a ON a.program = h.program AND a.of_release = h.of_release
     GROUP BY h.program, h.of_release
), in_order AS (
    SELECT program, of_release,
           row_number() OVER (PARTITION BY program ORDER BY began, of_release) AS place
      FROM releases
), pairs AS (
    SELECT o.program, o.of_release, p.of_release AS release_before
      FROM in_order o
      JOIN in_order p ON p.program = o.program AND p.place = o.place - 1
), grown AS (
    SELECT p.program AS program, p.of_release AS of_release, p.release_before AS release_before,
           h.module AS module, coalesce(g.most, 0) AS before_bytes, h.most AS now_bytes
      FROM pairs p
      JOIN held h ON h.program = p.program AND h.of_release = p.of_release
      LEFT JOIN held g ON g.program = p.program AND g.of_release = p.release_before
                      AND g.module = h.module
)
SELECT program, of_release, release_before, module, before_bytes, now_bytes,
       now_bytes - before_bytes AS rise
  FROM grown
 WHERE now_bytes > before_bytes
 ORDER BY rise DESC, program, of_release, module
