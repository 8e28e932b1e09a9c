-- 3,000 blocks of 1 KiB that live for a microsecond each, one after the other, in one phase: their
-- table has 35 pages.
INSERT INTO meta VALUES('finished', 1), ('run_ns', 6100000), ('command', './many');
INSERT INTO device VALUES(1, 'cpu', -1, NULL, NULL);
INSERT INTO process VALUES
  (1,100,NULL,'root',0,6100000,NULL,NULL,NULL,'box','./many','c api',NULL,'exit',0,NULL,1,6000,6000);
INSERT INTO heap VALUES(1, 1, 1, 0, 0, NULL);
INSERT INTO phase(id, process, thread, parent, ordinal, kind, name, step, begin_seq, end_seq, begin_ns, end_ns, scope,
  ended, domain) VALUES
  (1,1,NULL,NULL,0,'other','other',NULL,1,6000,0,6100000,'process','process end',NULL);
INSERT INTO stretch VALUES(1,1,1);
INSERT INTO phase_device VALUES
  (1,1,0,0,NULL,NULL,NULL,NULL,1024,1,NULL,1024,1,2000,NULL,3000,3000,3072000);
INSERT INTO allocation
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
SELECT 2 * i - 1, 1, 4096 * i, 1024, NULL, 2000 * i, 1000, 2 * i, NULL, NULL, NULL FROM n;
