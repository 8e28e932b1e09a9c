-- 700 steps of 10 ms, of which 30 to 689 were thinned out by record --max-size but for 300 and its
-- neighbours: only the curve and the sums tell of them. A step takes 8 MiB and gives them back.
INSERT INTO meta VALUES('finished', 1);
INSERT INTO clock VALUES(0, 5000000000, 1760000000000000000, 5000000000);
INSERT INTO device VALUES(1, 'cuda', 0, 'Example GPU', 12884901888);
INSERT INTO process VALUES(1,4711,NULL,'root',0,7100000000,NULL,NULL,NULL,'node1','python3 train.py',
  'torch','','exit',0,NULL,1,7100,7100);
INSERT INTO heap VALUES(1, 1, 1, 0, 0, NULL);
CREATE TEMP TABLE kept AS
WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 699)
SELECT n FROM s WHERE n < 30 OR n > 689 OR n BETWEEN 299 AND 301;
INSERT INTO thinned VALUES(1, 301, 2990, 'blocks', 538), (1, 301, 2990, 'phases', 538),
  (1, 3021, 6900, 'blocks', 776), (1, 3021, 6900, 'phases', 776);
INSERT INTO phase(id,process,thread,parent,ordinal,kind,name,step,begin_seq,end_seq,begin_ns,end_ns,scope,ended)
SELECT n * 2 + i, 1, 7, NULL, 0, kind, kind, n, n * 10 + 1 + i * 5, n * 10 + 5 + i * 5,
       n * 10000000 + i * 5000000, n * 10000000 + i * 5000000 + 5000000, 'process', 'end'
  FROM kept, (SELECT 0 AS i, 'forward' AS kind UNION ALL SELECT 1, 'backward');
INSERT INTO stretch SELECT 1, begin_seq, id FROM phase;
INSERT INTO phase_device
SELECT id, 1, (kind = 'forward') * 8388608, 8388608, NULL, NULL, NULL, NULL, 8388608, NULL, NULL,
       8388608, begin_seq + 1, begin_ns + 1000000, NULL, kind = 'forward', kind = 'backward',
       (kind = 'forward') * 8388608
  FROM phase;
-- The curve has all of them, at every level from 4 ms on.
INSERT INTO curve
WITH RECURSIVE l(level) AS (SELECT 22 UNION ALL SELECT level + 1 FROM l WHERE level < 33),
b(level, bucket) AS (SELECT level, 0 FROM l UNION ALL
  SELECT level, bucket + 1 FROM b WHERE ((bucket + 1) << level) < 7000000000)
SELECT 1, 'allocated', level, bucket, 0, 0, 8388608, 0 FROM b;
INSERT INTO allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,segment)
SELECT n * 10 + 2, 1, 4096, 8388608, NULL, n * 10000000 + 1000000, 6000000, n * 10 + 8, NULL, NULL, NULL
  FROM kept;
