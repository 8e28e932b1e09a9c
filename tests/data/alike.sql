-- Seven ranks, a GPU each, four steps of forward; a shell that started them. Of rank r (process r + 2) the
-- numbers 1000 * r + 100 * step + 1 to + 100. Each leaves 1 MiB in every step, and makes 64 MiB in each
-- forward, rank 5 but 96 MiB; rank 3 has 20 bytes more than others in step 2.
INSERT INTO meta VALUES('finished', 1);
INSERT INTO clock VALUES(0, 5000000000, 1760000000000000000, 5000000000);
INSERT INTO process VALUES(1,100,NULL,'root',0,9000000,NULL,NULL,NULL,'box','sh run.sh','phases',NULL,
  'exit',0,NULL,NULL,NULL,0);
INSERT INTO string VALUES(1,'remember'),(2,'train.py'),(3,'work');
INSERT INTO frame VALUES(1,1,2,10),(2,3,2,20);
INSERT INTO site VALUES(1,0,1),(2,0,2);
WITH RECURSIVE n(r) AS (SELECT 0 UNION ALL SELECT r + 1 FROM n WHERE r < 6)
INSERT INTO device SELECT r + 1, 'cuda', r, NULL, NULL FROM n;
INSERT INTO process SELECT id + 1, 100 + id, 1, 'spawn', 0, 9000000, id - 1, id - 1, 7, 'box',
  'python3 train.py', 'torch-cuda, phases', NULL, 'exit', 0, NULL, id * 1000, id * 1000 + 999, 99 FROM device;
INSERT INTO heap SELECT id, id + 1, id, 0, 0, NULL FROM device;
WITH RECURSIVE s(step) AS (SELECT 0 UNION ALL SELECT step + 1 FROM s WHERE step < 3)
INSERT INTO phase(id,process,thread,parent,ordinal,kind,name,step,begin_seq,end_seq,begin_ns,end_ns,scope,ended)
SELECT h.id * 10 + step, h.process, 100 + h.id, NULL, 0, 'forward', 'forward', step,
       h.id * 1000 + 100 * step + 1, h.id * 1000 + 100 * step + 100, 1000000 * step, 1000000 * step + 900000,
       'process', 'end' FROM heap h, s ORDER BY h.id, step;
INSERT INTO stretch SELECT process, begin_seq, id FROM phase;
INSERT INTO allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,segment)
SELECT begin_seq + 9, process - 1, 4096 * begin_seq, 1048576, NULL, begin_ns + 1000, -70368744177664,
       -2147483648, 1, NULL, NULL FROM phase
UNION ALL
SELECT begin_seq + 19, process - 1, 4096 * begin_seq + (1 << 30),
       (CASE process WHEN 7 THEN 96 ELSE 64 END << 20) + CASE WHEN process = 5 AND step = 2 THEN 20 ELSE 0 END,
       NULL, begin_ns + 2000, 1000, begin_seq + 29, 2, NULL, NULL FROM phase ORDER BY 1;
INSERT INTO phase_device
SELECT id, process - 1, step << 20, (step + 1) << 20, NULL, NULL, NULL, NULL, top, begin_seq + 19,
       begin_ns + 2000, top, begin_seq + 19, begin_ns + 2000, NULL, 2, 1, top - (step << 20)
  FROM (SELECT ph.*, ((step + 1) << 20) + a.size AS top FROM phase ph
          JOIN allocation a ON a.seq = ph.begin_seq + 19);
