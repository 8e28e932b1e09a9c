-- Two ranks, each with a GPU of its own whose segments are known, and the CPU, where they are not.
-- Rank 0: a graph's private pool beside the shared one; its allocator's history began late, so the
-- source counts 10 MiB more than its segments hold and 3 MiB more than its blocks; some requests
-- are not known. Rank 1: nothing but mapped pages, of two streams that touch; one failure says
-- nothing of its device. Addresses are 4 GiB and more; the event of seq s is at s ms.
INSERT INTO meta VALUES('finished', 1);
INSERT INTO clock VALUES(0, 5000000000, 1760000000000000000, 5000000000);
INSERT INTO device VALUES
  (1, 'cuda', 0, 'Example GPU', 134217728),
  (2, 'cuda', 1, 'Example GPU', 134217728),
  (3, 'cpu', -1, NULL, NULL);
INSERT INTO heap VALUES
  (1, 1, 1, 0, 0, NULL),
  (2, 1, 1, 0, 5, 'graph'),
  (3, 1, 3, 0, 0, NULL),
  (4, 2, 2, 0, 0, NULL),
  (5, 2, 2, 9, 0, NULL);
INSERT INTO process VALUES
  (1,900,NULL,'root',0,40000000,0,0,2,'box','python3 ddp.py','torch python phases',NULL,
   'exit',0,NULL,1,39,30),
  (2,901,1,'spawn',0,40000000,1,1,2,'box','python3 ddp.py','torch python phases',NULL,
   'exit',1,NULL,2,40,30);
INSERT INTO string VALUES
  (1,'main'),
  (2,'ddp.py'),
  (3,'replay'),
  (4,'bucket'),
  (5,'/usr/lib/python3/dist-packages/torch/cuda/graphs.py');
INSERT INTO frame VALUES
  (1,1,2,20),
  (2,3,5,84),
  (3,4,2,41);
INSERT INTO site VALUES
  (1,0,1),
  (2,0,2),
  (2,1,1),
  (3,0,3),
  (3,1,1);
INSERT INTO sample VALUES
  (9000000,NULL,1,'device used',90177536),
  (9000000,2,2,'process used',70000000);
INSERT INTO phase(id,process,thread,parent,ordinal,kind,name,step,begin_seq,end_seq,begin_ns,end_ns,scope,ended) VALUES
  (1,1,NULL,NULL,0,'other','other',NULL,1,9,1000000,9000000,'process','end'),
  (2,1,900,NULL,0,'forward','forward',0,11,19,11000000,19000000,'process','end'),
  (3,1,900,2,0,'user','encoder',0,13,17,13000000,17000000,'process','end'),
  (4,1,NULL,NULL,0,'other','other',0,21,25,21000000,25000000,'process','end'),
  (5,1,900,NULL,0,'backward','backward',0,27,39,27000000,39000000,'process','end'),
  (6,2,901,NULL,0,'forward','forward',0,2,20,2000000,20000000,'process','end'),
  (7,2,901,NULL,0,'backward','backward',0,22,40,22000000,40000000,'process','exception');
INSERT INTO stretch VALUES
  (1,1,1),
  (1,11,2),
  (1,13,3),
  (1,17,2),
  (1,21,4),
  (1,27,5),
  (2,2,6),
  (2,22,7);
-- Rank 0: what the source counts; rank 1: our own sums.
INSERT INTO phase_device VALUES
  (1,1,0,4194304,NULL,NULL,31457280,NULL,4194304,9,31457280,4194304,9,9000000,31457280,1,0,1048576),
  (2,1,4194304,17825792,NULL,NULL,54525952,NULL,17825792,15,54525952,17825792,15,15000000,54525952,
   4,0,13631488),
  (3,1,4194304,17825792,NULL,NULL,54525952,NULL,17825792,15,54525952,17825792,15,15000000,54525952,
   3,0,13631488),
  (4,1,17825792,18874368,NULL,NULL,54525952,NULL,18874368,23,54525952,18874368,23,23000000,54525952,
   1,0,1048576),
  (5,1,18874368,14680064,NULL,NULL,54525952,NULL,18874368,23,54525952,18874368,NULL,NULL,54525952,
   0,1,0),
  (2,3,0,8192,8192,NULL,NULL,NULL,8192,19,NULL,8192,19,19000000,NULL,1,0,8192),
  (6,2,0,13631488,13631488,NULL,31457280,0,13631488,12,31457280,13631488,12,12000000,31457280,
   3,0,13631488),
  (7,2,13631488,11534336,11534336,11534336,31457280,0,13631488,12,31457280,13631488,NULL,NULL,
   31457280,0,1,0);
INSERT INTO segment VALUES
  (1,1,4294967296,20971520,1000000,NULL,NULL,NULL),
  (11,2,4336910336,20971520,11000000,NULL,NULL,NULL),
  (15,1,4380950528,2097152,15000000,NULL,NULL,2);
-- Streams 0 and 9 of rank 1 have ranges that touch: no block can be in both.
INSERT INTO mapping VALUES
  (2,4,8589934592,4194304,2000000,1),
  (4,4,8594128896,16777216,4000000,1),
  (6,5,8610906112,12582912,6000000,1),
  (8,5,8621391872,2097152,8000000,0);
-- seq, heap, address, size, requested, alloc_ns, life_ns, free_seq, site, tag, segment
INSERT INTO allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,segment) VALUES
  (9,1,4294967296,1048576,NULL,9000000,-70368744177664,-2147483648,1,NULL,1),
  (13,2,4336910336,4194304,4194304,13000000,-70368744177664,-2147483648,2,NULL,11),
  (14,2,4345298944,8388608,8388000,14000000,-70368744177664,-2147483648,2,NULL,11),
  (15,1,4380950528,1048576,1048064,15000000,16000000,31,3,NULL,15),
  (19,3,1048576,8192,8192,19000000,-70368744177664,-2147483648,NULL,NULL,NULL),
  (23,1,4305453056,1048576,1048576,23000000,-70368744177664,-2147483648,3,NULL,1),
  (8,4,8590983168,2097152,2097152,8000000,-70368744177664,-2147483648,1,NULL,NULL),
  (10,4,8600420352,2097152,2097152,10000000,20000000,30,3,NULL,NULL),
  (12,5,8610906112,9437184,9437184,12000000,-70368744177664,-2147483648,2,NULL,NULL);
INSERT INTO keyframe VALUES
  (16,8),
  (16,9),
  (16,10),
  (16,12),
  (16,13),
  (16,14),
  (16,15);
INSERT INTO oom VALUES
  (25,1,NULL,900,25000000,4194304,NULL,NULL,NULL),
  (40,2,NULL,901,40000000,16777216,11534336,31457280,3);
