-- No event of a recorded process was lost, but three processes could not be recorded.
INSERT INTO meta VALUES('finished', 1);
INSERT INTO clock VALUES(0, 1000000000, 1760000100000000000, 1000000000);
INSERT INTO process VALUES(1,100,NULL,'root',0,9000000,NULL,NULL,NULL,'box','python3 a.py',
  'torch phases',NULL,'exit',0,NULL,1,6,6);
INSERT INTO overhead VALUES(NULL,'processes not recorded',3,'count');
