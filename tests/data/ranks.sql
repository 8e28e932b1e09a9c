-- Two ranks that were still running when the recorder was killed, and a shell that started them.
-- Events were lost, one is torn; reserved and requested are not known; names are unkind.
INSERT INTO meta VALUES('finished', 0), ('command', 'sh run.sh'), ('host', 'box');
INSERT INTO clock VALUES(0, 1000000000, 1760000100000000000, 1000000000);
INSERT INTO process VALUES
  (1,100,NULL,'root',0,NULL,NULL,NULL,NULL,'box','sh run.sh','','no memory is reported by this program',
   NULL,NULL,NULL,NULL,NULL,0),
  (2,101,1,'spawn',5000000,NULL,0,0,2,'box','python3 train.py','torch phases','python: no stacks for 3.15',
   NULL,NULL,NULL,1,40,20),
  (3,102,1,'spawn',6000000,9000000000,1,1,2,'box','python3 train.py','torch phases',NULL,
   'signal',NULL,9,2,41,21);
INSERT INTO device VALUES(1,'cpu',-1,NULL,NULL),(2,'cuda',1,NULL,NULL);
INSERT INTO heap VALUES(1,2,1,0,0,NULL),(2,2,2,0,0,NULL),(3,3,2,7,0,'side stream');
INSERT INTO string VALUES(1,'tab	and "quotes", a comma'),(2,CAST(x'6261ff64' AS TEXT)),
  (3,'größe_测量'),(4,'#not a section');
INSERT INTO frame VALUES(1,1,NULL,NULL),(2,2,3,NULL),(3,4,3,7);
INSERT INTO site VALUES(1,0,1),(2,0,2),(3,0,3);
INSERT INTO phase(id,process,thread,parent,ordinal,kind,name,step,begin_seq,end_seq,begin_ns,end_ns,scope,ended) VALUES
  (1,2,NULL,NULL,0,'other','other',NULL,1,2,5000000,6000000,'process','end'),
  (2,2,101,NULL,0,'forward','forward',0,3,20,6000000,3500000000,'process','exception'),
  (3,2,101,2,0,'user',CAST(x'1b5b33316d7265640a' AS TEXT),0,4,18,7000000,3000000000,'process','unbalanced'),
  (4,2,101,3,0,'user','attention of the second decoder layer, by hand',0,5,NULL,8000000,NULL,'thread',NULL),
  (5,2,NULL,NULL,1,'other','other',0,21,NULL,3500000000,NULL,'process',NULL),
  (6,3,102,NULL,0,'eval','eval',NULL,6,NULL,70000000000,NULL,'process',NULL);
INSERT INTO phase_device VALUES
  (1,1,0,0,NULL,NULL,NULL,NULL,0,NULL,NULL,0,NULL,NULL,NULL,0,0,0),
  (2,1,0,700,NULL,NULL,NULL,NULL,1700,12,NULL,1700,12,9000000,NULL,2,1,1700),
  (2,2,0,13958643712,NULL,NULL,NULL,NULL,13958643712,16,NULL,13958643712,16,2000000000,NULL,2,0,13958643712),
  (3,2,0,13958643712,NULL,NULL,NULL,NULL,13958643712,16,NULL,13958643712,16,2000000000,NULL,2,0,13958643712),
  (4,2,0,13958643712,NULL,NULL,NULL,NULL,13958643712,16,NULL,13958643712,16,2000000000,NULL,2,0,13958643712),
  (5,2,13958643712,13958643712,NULL,NULL,NULL,NULL,13958643712,16,NULL,13958643712,NULL,NULL,NULL,0,0,0),
  (6,2,0,1572864,NULL,NULL,NULL,NULL,1572864,8,NULL,1572864,8,71000000000,NULL,1,0,1572864);
INSERT INTO stretch VALUES(2,1,1),(2,3,2),(2,4,3),(2,18,2),(2,21,5),(3,6,6);
INSERT INTO allocation_phase VALUES(14,4);
INSERT INTO allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,segment) VALUES
  (8,3,4096,1572864,NULL,71000000000,-70368744177664,-2147483648,NULL,NULL,NULL),
  (10,1,8192,1000,NULL,8500000,5000,13,1,NULL,NULL),
  (12,1,16384,700,700,9000000,-70368744177664,-2147483648,2,NULL,NULL),
  (14,2,140000000000000,12884901888,NULL,1500000000,-70368744177664,-2147483648,3,NULL,NULL),
  (16,2,150000000000000,1073741824,NULL,2000000000,-70368744177664,-2147483648,1,NULL,NULL);
INSERT INTO lost VALUES(2,17,30,2500000000,3600000000,'block_alloc',12),
  (2,17,30,2500000000,3600000000,'block_free',1030),(3,30,33,80000000000,81000000000,'mark',1);
INSERT INTO torn VALUES(2,19,1234,3200000000,'timeout'),(3,40,77,90000000000,'dead');
INSERT INTO anomaly VALUES(22,2,3600000000,'free without allocation',4096,NULL),
  (23,2,3600000000,'free without allocation',8192,NULL),
  (24,2,3600000000,'phase left open',NULL,'attention of the second decoder layer, by hand');
INSERT INTO oom VALUES(25,2,2,101,3700000000,2147483648,13958643712,NULL,3);
