-- A training on CUDA's own allocator: PyTorch's hooks heard of the host's blocks only. Process 2 had
-- only the setting, process 3 the native allocator in spite of it, as it said.
INSERT INTO meta VALUES('finished', 1);
INSERT INTO clock VALUES(0, 1000000000, 1760000100000000000, 1000000000);
INSERT INTO process VALUES(1,100,NULL,'root',0,9000000,NULL,NULL,NULL,'box','python3 a.py',
  'torch phases',NULL,'exit',0,NULL,1,6,6),
  (2,101,1,'spawn',0,9000000,NULL,NULL,NULL,'box','python3 b.py','torch phases',NULL,'exit',0,NULL,7,8,2),
  (3,102,1,'spawn',0,9000000,NULL,NULL,NULL,'box','python3 c.py','torch phases',NULL,'exit',0,NULL,9,9,1);
INSERT INTO device VALUES(1,'cpu',-1,NULL,NULL),(2,'cuda',0,'Example GPU',8589934592);
INSERT INTO heap VALUES(1,1,1,0,0,NULL),(2,2,1,0,0,NULL);
INSERT INTO setting VALUES(1,NULL,'allocator','cudaMallocAsync'),
  (1,NULL,'alloc_conf','backend:cudaMallocAsync'),
  (2,NULL,'alloc_conf','max_split_size_mb:64, backend: cudaMallocAsync'),
  (3,NULL,'allocator','pytorch'),(3,NULL,'alloc_conf','backend:cudaMallocAsync');
INSERT INTO phase(id,process,thread,parent,ordinal,kind,name,step,begin_seq,end_seq,begin_ns,end_ns,scope,ended) VALUES
  (1,1,100,NULL,0,'forward','forward',0,1,6,1000000,8000000,'process','end');
INSERT INTO phase_device VALUES
  (1,1,0,4096,4096,NULL,NULL,NULL,4096,5,NULL,4096,5,2000000,NULL,1,0,4096);
INSERT INTO stretch VALUES(1,1,1);
INSERT INTO allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,segment) VALUES
  (5,1,4096,4096,4096,2000000,-70368744177664,-2147483648,NULL,NULL,NULL);
INSERT INTO driver_memory VALUES(6,1,2,'pool',7,0,NULL,NULL,NULL,3000000,NULL,NULL,NULL,NULL,0);
