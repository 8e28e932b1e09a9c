-- Thirty programs that call CUDA themselves, one after the other: the one of id n took n MiB.
INSERT INTO meta VALUES('finished', 1);
INSERT INTO clock VALUES(0, 5000000000, 1760000000000000000, 5000000000);
INSERT INTO device VALUES(1, 'cuda', 0, NULL, NULL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30)
INSERT INTO process SELECT i, 100 + i, NULL, 'spawn', i, 1000 * i, NULL, NULL, NULL, 'box', './solve',
  'cupti', NULL, 'exit', 0, NULL, i, i, 1 FROM n;
INSERT INTO heap SELECT id, id, 1, 0, 0, NULL FROM process;
INSERT INTO driver_memory SELECT id, id, 1, 'device', 4096, id * 1048576, NULL, NULL, NULL, 100 * id, NULL,
  NULL, NULL, NULL, 0 FROM process;
