-- 10 MiB of parameters, logits of 20 MiB that live on after a backward with 2 MiB of its own: without
-- the logits, the end of forward is 2 MiB below the peak.
INSERT INTO meta VALUES('finished', 1);
INSERT INTO clock VALUES(0, 5000000000, 1760000000000000000, 5000000000);
INSERT INTO device VALUES(1, 'cpu', 0, NULL, NULL);
INSERT INTO heap VALUES(1, 1, 1, 0, 0, NULL);
INSERT INTO process VALUES
  (1,4711,NULL,'root',0,51000000,NULL,NULL,NULL,'box','python3 train.py',
   'torch-cpu phases',NULL,'exit',0,0,1,12,12);
INSERT INTO string VALUES(1,'main'),(2,'train.py'),(3,'logits');
INSERT INTO frame VALUES(1,1,2,12),(2,3,2,30);
INSERT INTO site VALUES(1,0,1),(2,0,2),(2,1,1);
INSERT INTO phase(id,process,thread,parent,ordinal,kind,name,step,begin_seq,end_seq,begin_ns,end_ns,scope,ended) VALUES
  (1,1,NULL,NULL,0,'other','other',NULL,1,3,1000000,3000000,'process','end'),
  (2,1,4711,NULL,0,'forward','forward',0,4,6,4000000,6000000,'process','end'),
  (3,1,4711,NULL,0,'backward','backward',0,7,10,7000000,10000000,'process','end');
INSERT INTO phase_device VALUES
  (1,1,0,10485760,NULL,NULL,NULL,NULL,10485760,2,NULL,10485760,2,2000000,NULL,1,0,10485760),
  (2,1,10485760,31457280,NULL,NULL,NULL,NULL,31457280,5,NULL,31457280,5,5000000,NULL,1,0,20971520),
  (3,1,31457280,31457280,NULL,NULL,NULL,NULL,33554432,8,NULL,33554432,8,8000000,NULL,1,1,2097152);
INSERT INTO stretch VALUES (1,1,1),(1,4,2),(1,7,3);
INSERT INTO allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,segment) VALUES
  (2,1,1048576,10485760,NULL,2000000,-70368744177664,-2147483648,1,NULL,NULL),
  (5,1,16777216,20971520,NULL,5000000,-70368744177664,-2147483648,2,NULL,NULL),
  (8,1,67108864,2097152,NULL,8000000,1000000,9,1,NULL,NULL);
