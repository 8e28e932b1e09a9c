-- Each refused request, and what held the most at the peak of that process.
WITH largest AS (
    SELECT run, rank, process, device, category, bytes,
           row_number() OVER (PARTITION BY run, rank, process, device
                              ORDER BY bytes DESC, category) AS place
      FROM peak_by_category
)
SELECT o.run, o.rank, o.device, o.step, o.phase, o.asked, o.allocated, o.site,
       l.category, l.bytes
  FROM oom o
  LEFT JOIN largest l ON l.run = o.run AND l.rank = o.rank AND l.process = o.process
                     AND l.device = o.device AND l.place = 1
 ORDER BY o.run, o.rank, o.at_ns
