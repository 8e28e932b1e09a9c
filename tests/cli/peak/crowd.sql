-- Thirty processes that came and went, the later ones with more memory; three have the same.
INSERT INTO meta VALUES('finished', 1);
INSERT INTO clock VALUES(0, 5000000000, 1760000000000000000, 5000000000);
INSERT INTO device VALUES(1, 'virtual', 0, NULL, NULL);
CREATE TEMP TABLE one AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30)
  SELECT i, 1024 * CASE WHEN i BETWEEN 6 AND 8 THEN 7 ELSE i END AS bytes FROM n;
INSERT INTO process SELECT i, 500 + i, NULL, 'spawn', 0, 900, NULL, NULL, NULL, 'box', 'short', 'api',
  NULL, 'exit', 0, NULL, 10 * i, 10 * i + 1, 1 FROM one;
INSERT INTO heap SELECT i, i, 1, 0, 0, NULL FROM one;
INSERT INTO phase(id, process, ordinal, kind, name, begin_seq, end_seq, begin_ns, end_ns, scope,
  ended) SELECT i, i, 0, 'other', 'other', 10 * i, 10 * i + 1, 0, 900,
  'process', 'process end' FROM one;
INSERT INTO stretch SELECT process, begin_seq, id FROM phase;
INSERT INTO phase_device SELECT i, 1, 0, bytes, NULL, NULL, NULL, NULL, bytes, 10 * i, NULL, bytes,
  10 * i, 500, NULL, 1, 0, bytes FROM one;
INSERT INTO allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,segment) SELECT 10 * i, i, 4096, bytes, NULL, 500, -70368744177664, -2147483648, NULL,
  NULL, NULL FROM one;
