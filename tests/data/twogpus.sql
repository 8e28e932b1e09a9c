-- One process on two GPUs: an allocation failed, and nobody says on which of them; another did on
-- the second, where the only segment is full.
INSERT INTO meta VALUES('finished', 1);
INSERT INTO clock VALUES(0, 5000000000, 1760000000000000000, 5000000000);
INSERT INTO device VALUES(1, 'cuda', 0, 'Example GPU', NULL), (2, 'cuda', 1, 'Example GPU', NULL);
INSERT INTO heap VALUES(1, 1, 1, 0, 0, NULL), (2, 1, 2, 0, 0, NULL);
INSERT INTO process VALUES(1,77,NULL,'root',0,9000000,NULL,NULL,NULL,'box','./two','c api',NULL,
  'exit',1,NULL,1,8,6);
INSERT INTO segment VALUES(1,1,1048576,20971520,0,NULL,NULL,NULL),
  (2,2,1073741824,2097152,0,NULL,NULL,NULL);
INSERT INTO allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,segment) VALUES
  (3,1,1048576,512,500,3000000,-70368744177664,-2147483648,NULL,NULL,1),
  (4,2,1073741824,2097152,2097152,4000000,-70368744177664,-2147483648,NULL,NULL,2);
INSERT INTO oom VALUES(6,1,NULL,77,6000000,4096,NULL,NULL,NULL),
  (8,1,2,77,8000000,4096,2097152,2097152,NULL);
