-- Four stages in one row, of which the first two have a skip of one class and the third of another.
INSERT INTO meta VALUES('finished', 1);
INSERT INTO clock VALUES(0, 5000000000, 1760000000000000000, 5000000000);
INSERT INTO device VALUES(1, 'cuda', 0, 'Example GPU', 12884901888);
INSERT INTO heap VALUES(1, 1, 1, 0, 0, NULL);
INSERT INTO process VALUES(1,4712,NULL,'root',0,90000000,NULL,NULL,NULL,'box','python3 train.py',
  'torch-cuda, stacks, phases',NULL,'exit',0,NULL,1,90,90);
INSERT INTO module VALUES(1,'','Net'),(2,'net.stages','ModuleList'),(3,'net','Body'),
  (10,'net.stages.0','Stage'),(11,'net.stages.1','Stage'),(12,'net.stages.2','Stage'),
  (13,'net.stages.3','Stage'),(20,'net.stages.0.mlp','Linear'),(21,'net.stages.1.mlp','Linear'),
  (22,'net.stages.2.mlp','Linear'),(23,'net.stages.3.mlp','Linear'),(30,'net.stages.0.skip','Linear'),
  (31,'net.stages.1.skip','Linear'),(32,'net.stages.2.skip','Conv2d');
INSERT INTO phase(id,process,thread,parent,ordinal,kind,name,step,begin_seq,end_seq,begin_ns,end_ns,scope,
                  ended) VALUES
  (1,1,4712,NULL,0,'forward','forward',0,1,50,1000000,50000000,'process','end');
INSERT INTO stretch VALUES(1,1,1);
INSERT INTO phase_device VALUES
  (1,1,0,38 << 20,NULL,NULL,NULL,NULL,38 << 20,40,NULL,38 << 20,40,40000000,NULL,0,0,0);
INSERT INTO allocation
SELECT id, 1, id << 32, CASE WHEN id < 24 THEN 8 ELSE 2 END << 20, NULL, id * 1000000, -70368744177664,
       -2147483648, NULL, NULL, NULL, id FROM module WHERE id >= 20;
