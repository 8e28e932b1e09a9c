-- A program on a CPU that trains two steps, fed by three workers of a DataLoader that are alike, and
-- one that has more memory than all of them; another program that it ran.
INSERT INTO meta VALUES('finished', 1);
INSERT INTO clock VALUES(0, 5000000000, 1760000000000000000, 5000000000);
INSERT INTO device VALUES(1, 'cpu', -1, NULL, NULL);
INSERT INTO process VALUES
  (1,200,NULL,'root',0,9000000,NULL,NULL,NULL,'box','python3 train.py','torch-cpu phases',NULL,'exit',0,NULL,1,300,20),
  (2,201,1,'fork',10,8000000,NULL,NULL,NULL,'box','python3 train.py','torch-cpu phases',NULL,'exit',0,NULL,2,302,2),
  (3,202,1,'fork',20,8000000,NULL,NULL,NULL,'box','python3 train.py','torch-cpu phases',NULL,'exit',0,NULL,3,303,3),
  (4,203,1,'fork',30,8000000,NULL,NULL,NULL,'box','python3 train.py','torch-cpu phases',NULL,'exit',0,NULL,4,304,4),
  (5,204,1,'fork',40,8000000,NULL,NULL,NULL,'box','python3 train.py','torch-cpu phases',NULL,'signal',NULL,9,5,305,5),
  (6,205,1,'spawn',50,8000000,NULL,NULL,NULL,'box','tar cf out.tar out','','no memory is reported by this program','exit',0,NULL,6,306,0);
INSERT INTO heap SELECT id, id, 1, 0, 0, NULL FROM process WHERE id < 6;
INSERT INTO string VALUES(1,'main'),(2,'train.py'),(3,'collate'),(4,'forward');
INSERT INTO frame VALUES(1,1,2,12),(2,3,2,30),(3,4,2,20);
INSERT INTO site VALUES(1,0,1),(2,0,2),(3,0,3),(3,1,1);
INSERT INTO overhead VALUES(NULL,'events',34,'count'),(1,'arena used',4096,'bytes'),
  (2,'arena used',2048,'bytes'),(3,'arena used',2048,'bytes'),(4,'arena used',2048,'bytes'),
  (5,'arena used',8192,'bytes');
INSERT INTO phase(id,process,thread,parent,ordinal,kind,name,step,begin_seq,end_seq,begin_ns,end_ns,scope,ended) VALUES
  (1,1,NULL,NULL,0,'other','other',NULL,1,9,1000,2000,'process','end'),
  (2,1,200,NULL,0,'forward','forward',0,10,19,2000,3000,'process','end'),
  (3,1,200,NULL,0,'backward','backward',0,20,29,3000,4000,'process','end'),
  (4,1,200,NULL,0,'optimizer','optimizer',0,30,39,4000,5000,'process','end'),
  (5,1,200,NULL,0,'forward','forward',1,40,49,5000,6000,'process','end'),
  (6,1,200,NULL,0,'backward','backward',1,50,59,6000,7000,'process','end'),
  (7,1,200,NULL,0,'optimizer','optimizer',1,60,69,7000,8000,'process','end'),
  (12,2,NULL,NULL,0,'other','other',NULL,102,302,100,8000000,'process','end'),
  (13,3,NULL,NULL,0,'other','other',NULL,103,303,100,8000000,'process','end'),
  (14,4,NULL,NULL,0,'other','other',NULL,104,304,100,8000000,'process','end'),
  (15,5,NULL,NULL,0,'other','other',NULL,105,305,100,8000000,'process','end');
INSERT INTO stretch SELECT process, begin_seq, id FROM phase;
INSERT INTO allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,segment) VALUES
  (5,1,4096,8388608,NULL,1500,-70368744177664,-2147483648,1,NULL,NULL),
  (15,1,16777216,4194304,NULL,2500,1000,25,3,NULL,NULL),
  (45,1,16777216,4194304,NULL,5500,1000,55,3,NULL,NULL),
  (112,2,4096,1048576,NULL,2500,1000,122,2,NULL,NULL),
  (113,3,4096,1048576,NULL,2500,1000,123,2,NULL,NULL),
  (114,4,4096,1048576,NULL,2500,1000,124,2,NULL,NULL),
  (115,5,4096,33554432,NULL,2500,1000,125,2,NULL,NULL);
INSERT INTO phase_device
 SELECT id, 1, 0, 0, NULL, NULL, NULL, NULL, 8388608, 5, NULL, 8388608, 5, 1500, NULL, 1, 0, 8388608
   FROM phase WHERE id = 1
 UNION ALL SELECT id, 1, 8388608, 8388608, NULL, NULL, NULL, NULL, 12582912, 15, NULL,
        CASE WHEN kind = 'optimizer' THEN 8388608 ELSE 12582912 END,
        CASE kind WHEN 'forward' THEN begin_seq + 5 END, CASE kind WHEN 'forward' THEN end_ns - 500 END,
        NULL, kind = 'forward', kind = 'backward', 4194304 * (kind = 'forward')
   FROM phase WHERE id BETWEEN 2 AND 7
 UNION ALL SELECT ph.id, 1, 0, 0, NULL, NULL, NULL, NULL, a.size, a.seq, NULL, a.size, a.seq, 2500, NULL,
        1, 1, a.size FROM phase ph JOIN allocation a ON a.heap = ph.process WHERE ph.id > 7;
