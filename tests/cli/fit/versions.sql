-- One step on one GPU under PyTorch 2.9, which begins > of roundup_power2_divisions at the last boundary:
-- each request of 5,200,000 bytes becomes 6 MiB, three share a segment of 20 MiB, and the fourth needs
-- another one. Since 2.10 all four would share the first.
INSERT INTO meta VALUES('finished', 1);
INSERT INTO clock VALUES(0, 5000000000, 1760000000000000000, 5000000000);
INSERT INTO device VALUES(1, 'cuda', 0, 'Example GPU', 25769803776);
INSERT INTO heap VALUES(1, 1, 1, 0, 0, NULL);
INSERT INTO string VALUES(1, 'embed'), (2, 'train.py'), (3, 'project');
INSERT INTO frame VALUES(1, 1, 2, 10), (2, 3, 2, 20);
INSERT INTO site VALUES(1, 0, 1), (2, 0, 2);
INSERT INTO process VALUES(1, 4711, NULL, 'root', 0, 9000000, NULL, NULL, NULL, 'box',
  'python3 train.py', 'torch', '', 'exit', 0, NULL, 1, 14, 14);
INSERT INTO setting VALUES(1, 1, 'allocator', 'pytorch'), (1, NULL, 'torch', '2.9.0+cu128'),
  (1, 1, 'alloc_conf', 'roundup_power2_divisions:[1:1,4:1,>:2]');
INSERT INTO phase(id,process,thread,parent,ordinal,kind,name,step,begin_seq,end_seq,begin_ns,end_ns,scope,ended) VALUES
  (1, 1, 4711, NULL, 0, 'forward', 'forward', 3, 1, 8, 1000000, 4000000, 'process', 'end'),
  (2, 1, 4711, NULL, 0, 'backward', 'backward', 3, 9, 14, 5000000, 8000000, 'process', 'end');
INSERT INTO stretch VALUES(1, 1, 1), (1, 9, 2);
INSERT INTO segment VALUES
  (2, 1, 140000000000000, 20971520, 1000000, NULL, NULL, NULL),
  (10, 1, 139000000004096, 20971520, 5500000, NULL, NULL, NULL);
INSERT INTO allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,segment) VALUES
  (3, 1, 140000000000000, 6291456, 5200000, 1100000, -70368744177664, -2147483648, 1, NULL, 2),
  (4, 1, 140000006291456, 6291456, 5200000, 1200000, -70368744177664, -2147483648, 1, NULL, 2),
  (5, 1, 140000012582912, 6291456, 5200000, 1300000, -70368744177664, -2147483648, 1, NULL, 2),
  (11, 1, 139000000004096, 6291456, 5200000, 5500000, -70368744177664, -2147483648, 2, NULL, 10);
