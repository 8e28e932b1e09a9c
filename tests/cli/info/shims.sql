-- A shell script that finds the interpreter with the help of other programs, becomes it, and is killed
-- while a child of it still compresses.
INSERT INTO meta VALUES('finished', 1);
INSERT INTO clock VALUES(0, 5000000000, 1760000000000000000, 5000000000);
INSERT INTO device VALUES(1, 'cpu', -1, NULL, NULL);
INSERT INTO process VALUES
  (1,300,NULL,'root',0,1000000,NULL,NULL,NULL,'box','/usr/bin/env bash /opt/shims/python3 train.py --data /a/long/way/to/the/folder --learning-rate 0.001 --weight-decay 0.1 --seed 1','',NULL,'exec',NULL,NULL,1,1,0),
  (2,300,NULL,'exec',1000000,5000000,NULL,NULL,NULL,'box','bash /opt/shims/python3 train.py','',NULL,'exec',NULL,NULL,2,2,0),
  (3,301,2,'spawn',2000000,2100000,NULL,NULL,NULL,'box','/usr/bin/readlink python3','',NULL,'exit',1,NULL,3,3,0),
  (4,302,2,'spawn',3000000,3100000,NULL,NULL,NULL,'box','/usr/bin/readlink shims','',NULL,'exit',0,NULL,4,4,0),
  (5,303,2,'spawn',4000000,4100000,NULL,NULL,NULL,'box','basename /opt/shims/python3','','no memory is reported by this program','exit',0,NULL,5,5,0),
  (6,300,NULL,'exec',5000000,9000000,NULL,NULL,NULL,'box','/opt/bin/python3 train.py --data /a/long/way/to/the/folder --learning-rate 0.001 --seed 1','torch-cpu phases',NULL,'exit',0,NULL,6,20,14),
  (7,304,6,'fork',6000000,8000000,NULL,NULL,NULL,'box','/opt/bin/python3 train.py --data /a/long/way/to/the/folder --learning-rate 0.001 --seed 2','torch-cpu phases',NULL,'exit',0,NULL,7,19,3),
  (8,305,6,'spawn',7000000,9000000,NULL,NULL,NULL,'box','gzip -9 out','',NULL,'signal',NULL,9,8,18,0);
INSERT INTO heap VALUES(1, 6, 1, 0, 0, NULL), (2, 7, 1, 0, 0, NULL);
