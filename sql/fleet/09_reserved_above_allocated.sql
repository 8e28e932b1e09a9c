-- In which runs does the allocator hold much more than the program uses, and where is that worst?
WITH gap AS (
    SELECT run, rank, device, step, phase, begin_ns, reserved - allocated AS idle,
           row_number() OVER (PARTITION BY run ORDER BY reserved - allocated DESC, rank, device, begin_ns)
               AS place
      FROM phase_table
     WHERE reserved IS NOT NULL AND device <> 'cpu'
)
SELECT run, rank, device, step, phase, idle
  FROM gap
 WHERE place = 1
 ORDER BY idle DESC, run
