-- Five ranks, a GPU each. Rank 1 differs from rank 0 by 1 KiB at the end of its forward and by 2 KiB in
-- its backward, rank 2 in nothing but its times; rank 3 has 1 GiB more in its backward, rank 4 one step less.
INSERT INTO meta VALUES('finished', 1);
INSERT INTO clock VALUES(0, 5000000000, 1760000000000000000, 5000000000);
INSERT INTO device VALUES(1,'cuda',0,NULL,NULL),(2,'cuda',1,NULL,NULL),(3,'cuda',2,NULL,NULL),
  (4,'cuda',3,NULL,NULL),(5,'cuda',4,NULL,NULL);
INSERT INTO heap SELECT value, value, value, 0, 0, NULL FROM (SELECT 1 AS value UNION ALL SELECT 2
  UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5);
INSERT INTO process SELECT id, 100 + id, NULL, 'spawn', 0, 900000000, id - 1, id - 1, 5, 'box',
  'python3 ddp.py', 'torch-cuda, phases', NULL, 'exit', 0, NULL, id * 100, id * 100 + 99, 99 FROM heap;
-- Two steps of forward and backward of each: phase 10 * rank + 1 to 4.
INSERT INTO phase(id,process,thread,parent,ordinal,kind,name,step,begin_seq,end_seq,begin_ns,end_ns,scope,
                  ended)
SELECT h.id * 10 + p.at, h.id, 100 + h.id, NULL, 0, p.kind, p.kind, p.step, h.id * 100 + p.at * 10,
       h.id * 100 + p.at * 10 + 9, (h.id + p.at * 10) * 1000000, (2 * h.id + p.at * 10 + 5) * 1000000,
       'process', 'end'
  FROM heap h, (SELECT 1 AS at, 'forward' AS kind, 0 AS step UNION ALL SELECT 2, 'backward', 0
                UNION ALL SELECT 3, 'forward', 1 UNION ALL SELECT 4, 'backward', 1) p
 WHERE h.id < 5 OR p.step = 0 ORDER BY h.id, p.at;
INSERT INTO phase_device
SELECT id, process, 0, mib << 20, NULL, NULL, NULL, NULL, max(mib, 4096) << 20, begin_seq, NULL,
       (4096 << 20) + CASE WHEN id = 44 THEN 1 << 30 WHEN id = 24 THEN 2048 ELSE 0 END,
       begin_seq + 1, begin_ns + 1000, NULL, 3, 3, mib << 20
  FROM (SELECT *, CASE kind WHEN 'forward' THEN 2048 ELSE 1024 END AS mib FROM phase);
UPDATE phase_device SET allocated = allocated + 1024 WHERE phase IN (21, 23);
UPDATE phase_device SET max_allocated = 5 << 30 WHERE phase = 44;
INSERT INTO stretch SELECT process, begin_seq, id FROM phase;
