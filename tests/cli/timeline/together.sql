-- Two programs on one GPU: the second joins the recording after two seconds (record --join), and ends
-- before the first. Only the curves tell of their memory. What the device has in use was sampled.
INSERT INTO meta VALUES('finished', 1);
INSERT INTO clock VALUES(0, 5000000000, 1760000000000000000, 5000000000);
INSERT INTO device VALUES(1, 'cuda', 0, 'Example GPU', 12884901888);
INSERT INTO process VALUES
  (1,4711,NULL,'root',0,5600000000,NULL,NULL,NULL,'node1','python3 train.py','torch','','exit',0,NULL,1,40,20),
  (2,4800,NULL,'root',2000000000,4731838208,NULL,NULL,NULL,'node1','python3 serve.py','torch','','exit',0,NULL,2,41,10);
INSERT INTO heap VALUES(1, 1, 1, 0, 0, NULL), (2, 2, 1, 0, 0, NULL);
INSERT INTO allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,segment) VALUES
  (1, 1, 4096, 2147483648, NULL, 268435456, -70368744177664, -2147483648, NULL, NULL, NULL),
  (2, 2, 4096, 1073741824, NULL, 2147483648, -70368744177664, -2147483648, NULL, NULL, NULL);
-- Stretches of 268 ms.
CREATE TEMP TABLE point AS
WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t WHERE i < 19)
SELECT 1 AS heap, i, (2048 + i % 4 * 512) * 1048576 AS value FROM t
UNION ALL SELECT 2, i, (1024 + i % 3 * 256) * 1048576 FROM t WHERE i BETWEEN 8 AND 17;
INSERT INTO curve
SELECT heap, 'allocated', 28, i, before, min(before, value), max(before, value), value
  FROM (SELECT heap, i, value, lag(value, 1, 0) OVER (PARTITION BY heap ORDER BY i) AS before
          FROM point);
INSERT INTO sample
SELECT (i + 1) * 268435456, 1, 1, 'device used', sum(value) + 1610612736
  FROM point WHERE i % 2 GROUP BY i;
