-- Twelve processes of three steps of 10 ms and 4 MiB each; step 1 of all of them was thinned out.
INSERT INTO meta VALUES('finished', 1);
INSERT INTO clock VALUES(0, 5000000000, 1760000000000000000, 5000000000);
INSERT INTO device VALUES(1, 'cuda', 0, 'Example GPU', 12884901888);
INSERT INTO process
WITH RECURSIVE p(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM p WHERE id < 12)
SELECT id, 4710 + id, NULL, 'root', 0, 30000000, NULL, NULL, NULL, 'node1', 'python3 train.py', 'torch',
       '', 'exit', 0, NULL, id * 100 + 1, id * 100 + 30, 30
  FROM p;
INSERT INTO heap SELECT id, id, 1, 0, 0, NULL FROM process;
INSERT INTO thinned SELECT id, id * 100 + 11, id * 100 + 20, 'blocks', 1 FROM process;
INSERT INTO thinned SELECT id, id * 100 + 11, id * 100 + 20, 'phases', 1 FROM process;
INSERT INTO phase(id,process,thread,ordinal,kind,name,step,begin_seq,end_seq,begin_ns,end_ns,scope,ended)
SELECT first_seq + step * 10, id, 7, 0, 'forward', 'forward', step, first_seq + step * 10,
       first_seq + step * 10 + 9, step * 10000000, step * 10000000 + 10000000, 'process', 'end'
  FROM process, (SELECT 0 AS step UNION ALL SELECT 2);
INSERT INTO stretch SELECT process, begin_seq, id FROM phase;
INSERT INTO phase_device
SELECT id, 1, 0, 0, NULL, NULL, NULL, NULL, 4194304, NULL, NULL, 4194304, begin_seq + 1,
       begin_ns + 1000000, NULL, 1, 1, 4194304
  FROM phase;
INSERT INTO allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,segment)
SELECT begin_seq + 1, process, 4096, 4194304, NULL, begin_ns + 1000000, 6000000, begin_seq + 8, NULL,
       NULL, NULL
  FROM phase;
