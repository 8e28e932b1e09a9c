-- What before.sql became: lines moved, the decoder's activation is twice as large, gradients come from
-- two lines, a phase 'metrics' is new, the optimizer's temporary is gone but for 8 MiB, there is a
-- fourth step, and the ranks said hello in the other order.
INSERT INTO meta VALUES('finished', 1);
INSERT INTO clock VALUES(0, 5000000000, 1760000000000000000, 5000000000);
INSERT INTO device VALUES(1,'cuda',0,'Example GPU',25769803776),(2,'cuda',1,'Example GPU',25769803776);
INSERT INTO process VALUES
  (1,4001,NULL,'root',0,9000000,1,1,2,'box','python3 train.py','torch python phases',NULL,'exit',0,NULL,1,3000,60),
  (2,4002,NULL,'spawn',0,9000000,0,0,2,'box','python3 train.py','torch python phases',NULL,'exit',0,NULL,1,3000,60);
INSERT INTO heap VALUES(1,1,2,0,0,NULL),(2,2,1,0,0,NULL);
INSERT INTO string VALUES(1,'main'),(2,'project/train.py'),(3,'encode'),(4,'decode'),(5,'linear'),
  (6,'/usr/lib/python3/dist-packages/torch/nn/functional.py'),(7,'backward'),(8,'step'),(9,'accuracy');
INSERT INTO frame VALUES(1,1,2,14),(2,3,2,33),(3,4,2,61),(4,5,6,1916),(5,7,2,79),(6,7,2,81),(7,8,2,90),(8,9,2,64);
-- 1 parameters, 2 encode, 3 decode > linear, 4 and 5 backward from two lines, 6 step, 7 accuracy.
INSERT INTO site VALUES(1,0,1),(2,0,2),(2,1,1),(3,0,4),(3,1,3),(3,2,1),(4,0,5),(5,0,6),(6,0,7),(7,0,8);
-- A step of a rank has the numbers base to base + 99.
CREATE TEMP TABLE round AS
 WITH RECURSIVE n(step) AS (SELECT 0 UNION ALL SELECT step + 1 FROM n WHERE step < 3)
 SELECT p.id AS process, p.rank AS rank, n.step AS step, 400 + 200 * n.step + 100 * p.rank AS base,
        1000 * p.id + 10 * n.step AS id FROM process p, n;
INSERT INTO phase(id,process,thread,parent,ordinal,kind,name,step,begin_seq,end_seq,begin_ns,end_ns,scope,ended)
 SELECT 1000 * id + 999,id,NULL,NULL,0,'other','other',NULL,10 * rank + 1,10 * rank + 9,100,900,
        'process','end' FROM process
 UNION ALL SELECT id,process,process,NULL,0,'forward','forward',step,base + 1,base + 40,
        base * 1000 + 1000,base * 1000 + 40000,'process','end' FROM round
 UNION ALL SELECT id + 1,process,process,NULL,0,'backward','backward',step,base + 41,base + 70,
        base * 1000 + 41000,base * 1000 + 70000,'process','end' FROM round
 UNION ALL SELECT id + 2,process,process,NULL,0,'optimizer','optimizer',step,base + 71,base + 95,
        base * 1000 + 71000,base * 1000 + 95000,'process','end' FROM round
 UNION ALL SELECT id + 3,process,process,id,0,'user','metrics',step,base + 25,base + 35,
        base * 1000 + 25000,base * 1000 + 35000,'process','end' FROM round;
INSERT INTO stretch SELECT process, begin_seq, id FROM phase;
INSERT INTO stretch SELECT process, base + 36, id FROM round;
INSERT INTO allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,segment)
 SELECT 10 * rank + 5,id,4194304 * (rank + 1),67108864,NULL,500,-70368744177664,-2147483648,1,NULL,NULL FROM process
 UNION ALL SELECT base + 10,process,(base + 10) * 4194304,16777216,NULL,(base + 10) * 1000,50000,base + 60,2,NULL,NULL FROM round
 UNION ALL SELECT base + 20,process,(base + 20) * 4194304,67108864 + 2097152 * rank,NULL,(base + 20) * 1000,35000,base + 55,3,NULL,NULL FROM round
 UNION ALL SELECT base + 30,process,(base + 30) * 4194304,4194304,NULL,(base + 30) * 1000,3000,base + 33,7,NULL,NULL FROM round
 UNION ALL SELECT base + 50,process,(base + 50) * 4194304,50331648,NULL,(base + 50) * 1000,-70368744177664,-2147483648,4,NULL,NULL FROM round WHERE step = 0
 UNION ALL SELECT base + 51,process,(base + 51) * 4194304,16777216,NULL,(base + 51) * 1000,-70368744177664,-2147483648,5,NULL,NULL FROM round WHERE step = 0
 UNION ALL SELECT base + 45,process,(base + 45) * 4194304,1048576,NULL,(base + 45) * 1000,1000,base + 46,NULL,NULL,NULL FROM round
 UNION ALL SELECT base + 80,process,(base + 80) * 4194304,134217728,NULL,(base + 80) * 1000,-70368744177664,-2147483648,6,NULL,NULL FROM round WHERE step = 0
 UNION ALL SELECT base + 85,process,(base + 85) * 4194304,8388608,NULL,(base + 85) * 1000,5000,base + 90,6,NULL,NULL FROM round;
-- What the blocks come to; 32 MiB are reserved at a time.
CREATE TEMP VIEW level(process, seq, bytes) AS
 SELECT e.process, e.seq, coalesce((SELECT sum(a.size) FROM allocation a WHERE a.heap = e.process
        AND a.seq <= e.seq AND (a.free_seq < 0 OR a.free_seq > e.seq)), 0)
   FROM (SELECT process, begin_seq - 1 AS seq FROM phase UNION SELECT process, end_seq FROM phase
         UNION SELECT heap, seq FROM allocation) e;
INSERT INTO phase_device
 SELECT ph.id, h.device, b.bytes, e.bytes, NULL, NULL, r.reserved, r.reserved - e.bytes,
        (SELECT max(bytes) FROM level WHERE process = ph.process AND seq <= ph.end_seq), NULL,
        r.reserved,
        max(b.bytes, p.bytes), CASE WHEN p.bytes > b.bytes THEN p.seq END,
        CASE WHEN p.bytes > b.bytes THEN p.seq * 1000 END, r.reserved,
        p.births, 0, 0
   FROM phase ph JOIN heap h ON h.process = ph.process
   JOIN level b ON b.process = ph.process AND b.seq = ph.begin_seq - 1
   JOIN level e ON e.process = ph.process AND e.seq = ph.end_seq
   JOIN (SELECT q.id, (SELECT (max(bytes) + 33554431) / 33554432 * 33554432 FROM level
           WHERE process = q.process AND seq <= q.end_seq) AS reserved FROM phase q) r ON r.id = ph.id
   JOIN (SELECT q.id, l.seq, max(l.bytes) AS bytes, count(*) AS births FROM phase q
           JOIN level l ON l.process = q.process AND l.seq BETWEEN q.begin_seq AND q.end_seq
          GROUP BY q.id) p ON p.id = ph.id;
DROP VIEW level;
DROP TABLE round;
