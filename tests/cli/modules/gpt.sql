-- A model of three layers and a second one, in MiB: one step, whose peak is in backward. Layer 2 has
-- another class. seq s is at s ms; the tags name parameters, gradients and states; the activations and
-- a workspace have the module that ran, a loss has none.
INSERT INTO meta VALUES('finished', 1);
INSERT INTO clock VALUES(0, 5000000000, 1760000000000000000, 5000000000);
INSERT INTO device VALUES(1, 'cuda', 0, 'Example GPU', 12884901888);
INSERT INTO heap VALUES(1, 1, 1, 0, 0, NULL);
INSERT INTO process VALUES(1,4712,NULL,'root',0,90000000,NULL,NULL,NULL,'box','python3 train.py',
  'torch-cuda, stacks, phases',NULL,'exit',0,NULL,1,90,90);
INSERT INTO module VALUES(1,'','GPT'),(2,'layers','ModuleList'),
  (3,'layers.0','Layer'),(4,'layers.0.mlp','Linear'),(5,'layers.1','Layer'),(6,'layers.1.mlp','Linear'),
  (7,'layers.2','Last'),(8,'layers.2.mlp','Linear'),(9,'head','Linear'),
  (10,'Critic#2','Critic'),(11,'Critic#2.head','Linear'),(12,'unused','Dropout');
INSERT INTO tag VALUES(1,1,'layers.0.mlp.weight'),(2,1,'layers.1.mlp.weight'),(3,1,'layers.2.mlp.weight'),
  (4,1,'head.weight'),(5,1,'scale'),(6,1,'Critic#2.head.weight'),(7,3,'exp_avg of layers.1.mlp.weight'),
  (8,3,'exp_avg of layers.0.mlp.weight'),(9,8,'layers.2.running_mean'),(10,8,'a list of logits'),
  (11,2,'head.weight');
INSERT INTO phase(id,process,thread,parent,ordinal,kind,name,step,begin_seq,end_seq,begin_ns,end_ns,scope,
                  ended) VALUES
  (1,1,NULL,NULL,0,'other','other',NULL,1,19,1000000,19000000,'process','end'),
  (2,1,4712,NULL,0,'forward','forward',0,20,39,20000000,39000000,'process','end'),
  (3,1,4712,NULL,0,'backward','backward',0,40,59,40000000,59000000,'process','end'),
  (4,1,4712,NULL,0,'optimizer','optimizer',0,60,69,60000000,69000000,'process','end'),
  (5,1,NULL,NULL,0,'other','other',1,70,90,70000000,90000000,'process','end');
INSERT INTO stretch VALUES(1,1,1),(1,20,2),(1,40,3),(1,60,4),(1,70,5);
INSERT INTO phase_device
SELECT column1, 1, column2 << 20, column3 << 20, NULL, NULL, NULL, NULL, column4 << 20, NULL, NULL,
       column5 << 20, column6, column6 * 1000000, NULL, 0, 0, 0
  FROM (VALUES (1,0,44,44,44,17), (2,44,80,80,80,27), (3,80,55,85,85,41), (4,55,55,85,55,NULL),
               (5,55,55,85,55,NULL));
-- seq, MiB, freed, tag, module
INSERT INTO allocation
SELECT column1, 1, column1 << 32, column2 << 20, NULL, column1 * 1000000,
       CASE WHEN column3 THEN (column3 - column1) * 1000000 ELSE -70368744177664 END,
       CASE WHEN column3 THEN column3 ELSE -2147483648 END, NULL, column4, NULL, column5
  FROM (VALUES
  (2,4,0,1,NULL),(3,4,0,2,NULL),(4,6,0,3,NULL),(5,8,0,4,NULL),(6,1,0,5,NULL),(7,2,0,6,NULL),
  (8,8,0,7,NULL),(9,8,0,8,NULL),(10,3,0,9,NULL),
  (20,5,50,NULL,4),(21,5,50,NULL,6),(22,7,50,NULL,8),(23,2,45,NULL,3),(24,10,42,NULL,9),(25,3,44,NULL,10),
  (26,2,43,10,9),(27,2,58,NULL,NULL),
  (41,5,0,11,9),(43,1,44,NULL,6));
-- Here the activations have a call site.
INSERT INTO string VALUES(1,'Layer.forward'),(2,'/job/train.py'),(3,'main');
INSERT INTO frame VALUES(1,1,2,9),(2,3,2,30);
INSERT INTO site VALUES(1,0,1),(1,1,2);
UPDATE allocation SET site = 1 WHERE seq BETWEEN 20 AND 23;
