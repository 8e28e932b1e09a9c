-- Ten steps of one phase each; of these 3 to 7 were thinned out.
INSERT INTO meta VALUES('finished', 1);
INSERT INTO clock VALUES(0, 5000000000, 1760000000000000000, 5000000000);
INSERT INTO device VALUES(1, 'cuda', 0, 'Example GPU', 12884901888);
INSERT INTO process VALUES(1,4711,NULL,'root',0,100000000,NULL,NULL,NULL,'node1','python3 train.py',
  'torch','','exit',0,NULL,1,100,100);
INSERT INTO heap VALUES(1, 1, 1, 0, 0, NULL);
INSERT INTO thinned VALUES(1, 31, 80, 'blocks', 5), (1, 31, 80, 'phases', 5);
INSERT INTO phase(id,process,thread,ordinal,kind,name,step,begin_seq,end_seq,begin_ns,end_ns,scope,ended)
WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 9)
SELECT n + 1, 1, 7, 0, 'forward', 'forward', n, n * 10 + 1, n * 10 + 10, n * 10000000,
       n * 10000000 + 10000000, 'process', 'end'
  FROM s WHERE n < 3 OR n > 7;
INSERT INTO stretch SELECT 1, begin_seq, id FROM phase;
INSERT INTO phase_device
SELECT id, 1, 4194304, 4194304, 4194304, 4194304, 20971520, (step + 1) * 1048576, 4194304, NULL,
       20971520, 4194304, NULL, NULL, 20971520, 0, 0, 0
  FROM phase;
INSERT INTO segment VALUES(1, 1, 4096, 20971520, 0, NULL, NULL, NULL);
INSERT INTO allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,segment)
VALUES(2, 1, 4096, 4194304, 4194304, 1000000, -70368744177664, -2147483648, NULL, NULL, 1);
