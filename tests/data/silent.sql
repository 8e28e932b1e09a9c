-- A program that reported nothing.
INSERT INTO meta VALUES('finished', 1), ('guest', 'the library does not load: no such file');
INSERT INTO clock VALUES(0, 1, 1750000000000000000, 1);
INSERT INTO process VALUES(1,50,NULL,'root',0,2000000000,NULL,NULL,NULL,'box','/bin/true','',
  'torch: was not imported','exit',3,NULL,NULL,NULL,0);
