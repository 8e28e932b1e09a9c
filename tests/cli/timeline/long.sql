-- A long run: 60 steps of 100 ms, thinned, so that only the curve tells of it. After step 29 the
-- program waits for ten seconds. Each step rises by 40 MiB in forward, peaks at twice that in
-- backward, and leaves 1 MiB behind.
INSERT INTO meta VALUES('finished', 1);
INSERT INTO clock VALUES(0, 5000000000, 1760000000000000000, 5000000000);
INSERT INTO device VALUES(1, 'cuda', 0, 'Example GPU', 12884901888);
INSERT INTO process VALUES(1,4711,NULL,'root',0,17000000000,NULL,NULL,NULL,'node1','python3 train.py',
  'torch','','exit',0,NULL,1,6100,6000);
INSERT INTO heap VALUES(1, 1, 1, 0, 0, NULL);
INSERT INTO thinned VALUES(1, 1, 6000, 'allocations', 5990);
INSERT INTO allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,segment) VALUES(1, 1, 4096, 10485760, NULL, 500000000, -70368744177664, -2147483648,
  NULL, NULL, NULL);
INSERT INTO phase(id,process,thread,parent,ordinal,kind,name,step,begin_seq,end_seq,begin_ns,end_ns,scope,ended)
WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 59),
k(i, kind, begin, end) AS (VALUES (1, 'zero_grad', 0, 5), (2, 'forward', 5, 40),
  (3, 'backward', 40, 90), (4, 'optimizer', 90, 100))
SELECT n * 4 + i, 1, 7, NULL, 0, kind, kind, n, n * 100 + begin + 2, n * 100 + end + 1,
       1000000000 + n * 100000000 + (n >= 30) * 10000000000 + begin * 1000000,
       1000000000 + n * 100000000 + (n >= 30) * 10000000000 + end * 1000000, 'process', 'end'
  FROM s, k;
INSERT INTO phase_device
SELECT id, 1, (10 + step) * 1048576 + (kind = 'backward') * 41943040,
       (11 + step) * 1048576 - (kind = 'zero_grad') * 1048576 + (kind = 'forward') * 40894464,
       NULL, NULL, NULL, NULL, (90 + step) * 1048576, NULL, NULL,
       (10 + step + CASE kind WHEN 'backward' THEN 80 WHEN 'forward' THEN 40 ELSE 1 END) * 1048576,
       begin_seq + 1, begin_ns + 10000000 * (kind = 'backward'), NULL, 10, 9, 104857600
  FROM phase;
-- The values at the ends of stretches of 5 ms, and then the buckets of every level.
CREATE TEMP TABLE point AS
WITH RECURSIVE t(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM t WHERE i < 1199)
SELECT 1000000000 + i * 5000000 + (i >= 600) * 10000000000 AS ns,
       (10 + i / 20 + CASE WHEN i % 20 < 8 THEN i % 20 * 5
                           WHEN i % 20 = 10 THEN 80
                           WHEN i % 20 < 18 THEN 40 - (i % 20 - 8) * 4 ELSE 1 END) * 1048576 AS value
  FROM t;
INSERT INTO point VALUES(500000000, 10485760);
CREATE TEMP TABLE change AS
SELECT ns, value, lag(value, 1, 0) OVER (ORDER BY ns) AS before FROM point;
INSERT INTO curve
WITH RECURSIVE l(level) AS (SELECT 20 UNION ALL SELECT level + 1 FROM l WHERE level < 34)
SELECT DISTINCT 1, 'allocated', level, ns >> level,
       first_value(before) OVER w, min(min(value, before)) OVER w, max(max(value, before)) OVER w,
       last_value(value) OVER w
  FROM change, l
WINDOW w AS (PARTITION BY level, ns >> level ORDER BY ns
             ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING);
