-- A count at three times, beside bytes of one of them.
INSERT INTO meta VALUES('finished', 1);
INSERT INTO process VALUES(1,4711,NULL,'root',0,13000000,NULL,NULL,NULL,'box','./serve','phases',NULL,'exit',0,NULL,1,9,9);
INSERT INTO sample VALUES(1000,1,NULL,'killed for memory',5),(1000,1,NULL,'RSS',1048576),
  (2000,1,NULL,'killed for memory',1207),(3000,1,NULL,'killed for memory',9),
  (1500,1,NULL,'number of threads',2),(2500,1,NULL,'number of threads',2048);
