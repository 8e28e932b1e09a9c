-- Two processes of three steps of 10 ms and 4 MiB each; of the first, step 1 was thinned out.
INSERT INTO meta VALUES('finished', 1);
INSERT INTO clock VALUES(0, 5000000000, 1760000000000000000, 5000000000);
INSERT INTO device VALUES(1, 'cuda', 0, 'Example GPU', 12884901888);
INSERT INTO process VALUES(1,4711,NULL,'root',0,30000000,0,0,2,'node1','python3 train.py',
  'torch','','exit',0,NULL,1,30,30), (2,4712,1,'fork',0,30000000,1,1,2,'node1','python3 train.py',
  'torch','','exit',0,NULL,101,130,30);
INSERT INTO heap VALUES(1, 1, 1, 0, 0, NULL), (2, 2, 1, 0, 0, NULL);
INSERT INTO thinned VALUES(1, 11, 20, 'blocks', 1), (1, 11, 20, 'phases', 1);
CREATE TEMP TABLE kept AS
SELECT p.id AS process, s.value AS step, p.first_seq + s.value * 10 AS seq, s.value * 10000000 AS ns
  FROM process p, (SELECT 0 AS value UNION ALL SELECT 1 UNION ALL SELECT 2) s
 WHERE p.id = 2 OR s.value <> 1;
INSERT INTO phase(id,process,thread,ordinal,kind,name,step,begin_seq,end_seq,begin_ns,end_ns,scope,ended)
SELECT seq, process, 7, 0, 'forward', 'forward', step, seq, seq + 9, ns, ns + 10000000, 'process', 'end'
  FROM kept;
INSERT INTO stretch SELECT process, begin_seq, id FROM phase;
INSERT INTO phase_device
SELECT id, 1, 0, 0, NULL, NULL, NULL, NULL, 4194304, NULL, NULL, 4194304, begin_seq + 1,
       begin_ns + 1000000, NULL, 1, 1, 4194304
  FROM phase;
INSERT INTO allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,segment)
SELECT seq + 1, process, 4096, 4194304, NULL, ns + 1000000, 6000000, seq + 8, NULL, NULL, NULL
  FROM kept;
