-- plain.sql of the data of tests, with more steps.
INSERT INTO meta VALUES('finished', 1);
INSERT INTO clock VALUES(0, 5000000000, 1760000000000000000, 5000000000);
INSERT INTO device VALUES(1, 'cuda', 0, 'Example GPU', 2147483648), (2, 'cuda', 1, NULL, NULL);
INSERT INTO heap VALUES(1, 1, 1, 0, 0, NULL), (2, 1, 2, 0, 0, NULL);
INSERT INTO process VALUES
  (1,800,NULL,'root',0,30000000,NULL,NULL,NULL,'box','./solve','cupti 130001: driver callbacks',
   NULL,'exit',0,NULL,1,30,30);
INSERT INTO string VALUES
  (1,'/opt/cuda/lib/libcufft.so.12'),
  (2,'/opt/solver/bin/solve'),
  (3,'cudaMalloc'),
  (4,'cudaMallocAsync'),
  (5,'cudaMallocManaged');
INSERT INTO phase(id, process, thread, parent, ordinal, kind, name, step, begin_seq, end_seq, begin_ns, end_ns, scope,
  ended, domain) VALUES
  (1,1,NULL,NULL,0,'other','other',NULL,1,9,1000000,9000000,'process','end',NULL),
  (2,1,800,NULL,0,'user','solve',0,10,18,10000000,18000000,'process','end',NULL),
  (3,1,800,2,0,'user','inner',0,13,15,13000000,15000000,'process','end',NULL),
  (4,1,800,NULL,0,'user','solve',1,19,21,19000000,21000000,'process','end',NULL),(6,1,800,NULL,0,'user','solve',2,22,22,22000000,22500000,'process','end',NULL),(7,1,800,NULL,0,'user','solve',3,23,23,23000000,23500000,'process','end',NULL),(8,1,800,NULL,0,'user','solve',4,24,25,24000000,25000000,'process','end',NULL),
  (5,1,NULL,NULL,0,'other','other',NULL,26,30,26000000,30000000,'process','process end',NULL);
INSERT INTO stretch VALUES(1,1,1),(1,10,2),(1,13,3),(1,16,2),(1,19,4),(1,26,5);
INSERT INTO driver_memory VALUES
  (3,1,1,'device',4294967296,67108864,3,2,NULL,3000000,17000000,20,NULL,NULL,0),
  (5,1,1,'device',5368709120,16777216,3,1,NULL,5000000,NULL,NULL,NULL,NULL,0),
  (6,1,1,'managed',6442450944,134217728,5,2,NULL,6000000,NULL,NULL,NULL,NULL,0),
  (8,1,1,'async',7516192768,8388608,4,2,0,8000000,NULL,NULL,NULL,NULL,0),
  (14,1,1,'async',7524581376,33554432,4,2,0,14000000,3000000,17,NULL,NULL,0),
  (16,1,2,'device',4294967296,1048576,3,2,NULL,16000000,NULL,NULL,NULL,NULL,0);
INSERT INTO sample VALUES
  (4000000,1,1,'device used',486539264),
  (12000000,1,1,'device used',538968064),
  (12000100,1,1,'pool reserved',33554432),
  (12000200,1,1,'pool used',8388608),
  (18000000,1,1,'device used',547356672),
  (18000100,1,1,'pool reserved',41943040),
  (18000200,1,1,'pool used',8388608),
  (25000000,1,1,'device used',471859200),
  (25000100,1,1,'pool reserved',33554432);
