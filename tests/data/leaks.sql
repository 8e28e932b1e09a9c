-- Twelve steps of one process on one GPU; each has the numbers 100 * step + 1 to 100 * step + 100.
-- Site 1 leaves 1 MiB in every step; site 2 leaves 4 MiB in steps 3, 6 and 9; site 3 makes 8 MiB that
-- lives until the middle of the next step; site 4 makes 16 MiB in step 0, which stays; blocks without
-- a site leave 1 KiB in six steps.
INSERT INTO meta VALUES('finished', 1);
INSERT INTO clock VALUES(0, 5000000000, 1760000000000000000, 5000000000);
INSERT INTO device VALUES(1, 'cuda', 0, 'Example GPU', 12884901888);
INSERT INTO heap VALUES(1, 1, 1, 0, 0, NULL);
INSERT INTO process VALUES(1,4711,NULL,'root',0,13000000,NULL,NULL,NULL,'box','python3 leak.py',
  'torch python phases',NULL,'exit',0,NULL,1,1300,36);
INSERT INTO string VALUES(1,'remember'),(2,'leak.py'),(3,'log_loss'),(4,'prefetch'),(5,'step');
INSERT INTO frame VALUES(1,1,2,10),(2,3,2,20),(3,4,2,30),(4,5,2,40);
INSERT INTO site VALUES(1,0,1),(2,0,2),(3,0,3),(4,0,4);
WITH RECURSIVE n(step) AS (SELECT 0 UNION ALL SELECT step + 1 FROM n WHERE step < 11)
INSERT INTO phase(id,process,thread,parent,ordinal,kind,name,step,begin_seq,end_seq,begin_ns,end_ns,scope,ended)
 SELECT 2 * step + 1,1,4711,NULL,0,'forward','forward',step,100 * step + 1,
  100 * step + 50,1000000 * step,1000000 * step + 490000,'process','end' FROM n
 UNION ALL SELECT 2 * step + 2,1,4711,NULL,0,'optimizer','optimizer',step,100 * step + 51,
  100 * step + 100,1000000 * step + 500000,1000000 * step + 990000,'process','end' FROM n;
INSERT INTO stretch SELECT 1, begin_seq, id FROM phase;
WITH RECURSIVE n(step) AS (SELECT 0 UNION ALL SELECT step + 1 FROM n WHERE step < 11)
INSERT INTO allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,segment)
 SELECT 100 * step + 10,1,4096 * step,1048576,NULL,1000000 * step + 90000,
  -70368744177664,-2147483648,1,NULL,NULL FROM n
 UNION ALL SELECT 100 * step + 20,1,900000 + step,4194304,NULL,1000000 * step + 190000,
  -70368744177664,-2147483648,2,NULL,NULL FROM n WHERE step IN (3, 6, 9)
 UNION ALL SELECT 100 * step + 30,1,800000 + step,8388608,NULL,1000000 * step + 290000,
  1150000,100 * step + 145,3,NULL,NULL FROM n
 UNION ALL SELECT 60,1,700000,16777216,NULL,590000,-70368744177664,-2147483648,4,NULL,NULL
 UNION ALL SELECT 100 * step + 40,1,600000 + step,1024,NULL,1000000 * step + 390000,
  -70368744177664,-2147483648,NULL,NULL,NULL FROM n WHERE step % 2 = 1;
INSERT INTO phase_device
 SELECT ph.id, 1, b.live, e.live, NULL, NULL, NULL, NULL, e.live, NULL, NULL, e.live, NULL, NULL, NULL,
        0, 0, 0
   FROM phase ph
   JOIN (SELECT p.id, (SELECT coalesce(sum(size), 0) FROM allocation WHERE seq < p.begin_seq AND
          (free_seq < 0 OR free_seq >= p.begin_seq)) AS live FROM phase p) b ON b.id = ph.id
   JOIN (SELECT p.id, (SELECT coalesce(sum(size), 0) FROM allocation WHERE seq <= p.end_seq AND
          (free_seq < 0 OR free_seq > p.end_seq)) AS live FROM phase p) e ON e.id = ph.id;
