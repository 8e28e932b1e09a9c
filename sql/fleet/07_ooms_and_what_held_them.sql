-- Each refused request, and the five call sites whose blocks held the most memory of its device at that
-- moment, with the module and the tag of their largest block. The CPU's requests count, too. A block
-- that the recording left out (--keep-steps, --max-size) is not there.
WITH live AS (
    SELECT o.run AS run, o.rank AS rank, o.process AS process, o.oom AS oom,
           coalesce(a.site, '') AS site, coalesce(a.module, '') AS module,
           coalesce(a.tag, '') AS tag, a.size AS size
      FROM allocations a
      JOIN oom o ON a.run = o.run AND a.rank = o.rank AND a.process = o.process
                AND a.device = o.device
     WHERE a.allocation < o.oom AND (a.free_seq IS NULL OR a.free_seq > o.oom)
), largest AS (
    SELECT run, rank, process, oom, site, module, tag, size,
           row_number() OVER (PARTITION BY run, rank, process, oom, site
                              ORDER BY size DESC, module, tag) AS place
      FROM live
), of_site AS (
    SELECT run, rank, process, oom, site, count(*) AS blocks, sum(size) AS bytes,
           max(CASE WHEN place = 1 THEN module END) AS module,
           max(CASE WHEN place = 1 THEN tag END) AS tag
      FROM largest
     GROUP BY run, rank, process, oom, site
), held AS (
    SELECT run, rank, process, oom, site, module, tag, blocks, bytes,
           row_number() OVER (PARTITION BY run, rank, process, oom ORDER BY bytes DESC, site) AS place
      FROM of_site
)
SELECT o.run, o.rank, o.process, o.oom, o.device, o.step, o.phase, o.asked, o.allocated,
       o.site AS asked_by, h.place, h.site, h.module, h.tag, h.blocks, h.bytes
  FROM oom o
  LEFT JOIN (SELECT * FROM held WHERE place <= 5) h
         ON h.run = o.run AND h.rank = o.rank AND h.process = o.process AND h.oom = o.oom
 ORDER BY o.run, o.rank, o.process, o.oom, h.place
