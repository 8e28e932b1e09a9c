-- 18 MiB before the first step and 6 in its forward, which an exception ends: a request of 18 MiB is
-- refused, for the limit is 40 MiB. Rank 1 of the same run had asked for more than that at once.
INSERT INTO meta VALUES('finished', 1);
INSERT INTO clock VALUES(0, 5000000000, 1760000000000000000, 5000000000);
INSERT INTO device VALUES(1, 'cuda', 0, 'Example GPU', 268435456), (2, 'cuda', 1, 'Example GPU', 268435456);
INSERT INTO heap VALUES(1, 1, 1, 0, 0, NULL), (2, 2, 2, 0, 0, NULL);
INSERT INTO process VALUES
  (1,4711,NULL,'root',0,51000000,NULL,NULL,NULL,'box','python3 train.py',
   'torch python phases',NULL,'exit',1,0,1,50,50),
  (2,4712,NULL,'root',0,51000000,NULL,NULL,NULL,'box','python3 train.py',
   'torch python phases',NULL,'exit',1,1,1,50,50);
INSERT INTO setting VALUES(1,1,'allocator','pytorch'),(1,1,'limit','41943040'),(1,1,'alloc_conf','max_split_size_mb:128'),
  (2,2,'allocator','pytorch'),(2,2,'limit','41943040');
INSERT INTO string VALUES(1,'main'),(2,'train.py'),(3,'encode');
INSERT INTO frame VALUES(1,1,2,12),(2,3,2,30);
INSERT INTO site VALUES(1,0,1),(2,0,2),(2,1,1);
INSERT INTO phase(id,process,thread,parent,ordinal,kind,name,step,begin_seq,end_seq,begin_ns,end_ns,scope,ended) VALUES
  (1,1,NULL,NULL,0,'other','other',NULL,1,4,1000000,4000000,'process','end'),
  (2,1,4711,NULL,0,'forward','forward',0,5,12,5000000,12000000,'process','exception');
INSERT INTO phase_device VALUES
  (1,1,0,18874368,18874368,NULL,18874368,0,18874368,4,18874368,18874368,4,4000000,18874368,1,0,18874368),
  (2,1,18874368,25165824,25165824,NULL,39845888,14680064,25165824,7,39845888,25165824,7,7000000,39845888,1,0,6291456);
INSERT INTO stretch VALUES (1,1,1),(1,5,2);
INSERT INTO segment VALUES
  (2,1,139637976727552,18874368,2000000,NULL,NULL,NULL),
  (6,1,139638010281984,20971520,6000000,NULL,NULL,NULL);
INSERT INTO allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,segment) VALUES
  (3,1,139637976727552,18874368,18874368,3000000,-70368744177664,-2147483648,1,NULL,2),
  (7,1,139638010281984,6291456,6291456,7000000,-70368744177664,-2147483648,2,NULL,6);
INSERT INTO oom VALUES(11,1,1,4711,11000000,18874368,25165824,39845888,2),(13,2,2,4712,13000000,62914560,0,0,2);
