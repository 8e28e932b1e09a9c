-- A GPU whose driver told of its memory. The event of seq s is at s ms. The allocator has segments of
-- 20, 2 and 20 MiB; cuBLAS took 8 and 1, NCCL 2 x 16 by mapping, the program 4 out of a pool of 32.
-- Pinned, managed and imported memory is apart. When the device was first looked at, with one segment
-- there, 520 were used: 500 are the context and others. At the peak, seq 15, 622 are used:
-- 42 reserved + 9 + 32 + 32 outside + 500 + 7 of which nobody told.
INSERT INTO meta VALUES('finished', 1);
INSERT INTO clock VALUES(0, 5000000000, 1760000000000000000, 5000000000);
INSERT INTO device VALUES(1, 'cuda', 0, 'Example GPU', 2147483648);
INSERT INTO heap VALUES
  (1, 1, 1, 0, 0, NULL),
  (2, 1, 1, 0, 0, 'driver');
INSERT INTO process VALUES
  (1,700,NULL,'root',0,30000000,NULL,NULL,NULL,'box','python3 train.py','pytorch, cupti 13.0',
   'nvtx: NVTX_INJECTION64_PATH was set','exit',0,NULL,1,30,30);
INSERT INTO string VALUES
  (1,'main'),
  (2,'train.py'),
  (3,'libc10_cuda.so'),
  (4,'libcublas.so.13'),
  (5,'libcublasLt.so.13'),
  (6,'/opt/nccl/libnccl.so.2'),
  (7,'python3.12'),
  (8,'cudaMalloc'),
  (9,'cuMemCreate'),
  (10,'cudaHostAlloc'),
  (11,'cudaMallocAsync'),
  (12,'void gemm<float, 128, 64>(float const*, float const*, float*)'),
  (13,'cudaMallocManaged');
INSERT INTO frame VALUES(1,1,2,20);
INSERT INTO site VALUES(1,0,1);
INSERT INTO phase(id, process, thread, parent, ordinal, kind, name, step, begin_seq, end_seq, begin_ns, end_ns, scope,
  ended, domain) VALUES
  (1,1,NULL,NULL,0,'other','other',NULL,1,10,1000000,10000000,'process','end',NULL),
  (2,1,700,NULL,0,'forward','forward',0,11,20,11000000,20000000,'process','end',NULL),
  (3,1,700,NULL,0,'backward','backward',0,21,30,21000000,30000000,'process','end',NULL);
INSERT INTO stretch VALUES
  (1,1,1),
  (1,11,2),
  (1,21,3);
INSERT INTO phase_device VALUES
  (1,1,0,16777216,NULL,NULL,20971520,4194304,16777216,3,20971520,16777216,3,3000000,20971520,
   1,0,16777216),
  (2,1,16777216,25166336,NULL,NULL,44040192,18873856,25166336,15,44040192,25166336,15,15000000,
   44040192,2,0,8389120),
  (3,1,25166336,16777728,NULL,NULL,23068672,6290944,25166336,15,44040192,25166336,NULL,NULL,
   44040192,0,1,0);
INSERT INTO segment VALUES
  (2,1,4294967296,20971520,2000000,NULL,NULL,1),
  (11,1,4341104640,2097152,11000000,NULL,NULL,1),
  (14,1,4362076160,20971520,14000000,10000000,24,1);
INSERT INTO allocation VALUES
  (3,1,4294967296,16777216,NULL,3000000,-70368744177664,-2147483648,1,NULL,2),
  (12,1,4341104640,512,NULL,12000000,-70368744177664,-2147483648,1,NULL,11),
  (15,1,4362076160,8388608,NULL,15000000,8000000,23,1,NULL,14);
INSERT INTO driver_memory VALUES
  (2,1,1,'device',4294967296,20971520,8,3,NULL,2000000,NULL,NULL,1,1,1),
  (5,1,1,'device',5368709120,8388608,8,4,NULL,5000000,NULL,NULL,NULL,NULL,0),
  (6,1,1,'device',5377097728,1048576,8,5,NULL,6000000,12000000,18,NULL,NULL,0),
  (7,1,1,'physical',901,16777216,9,6,NULL,7000000,NULL,NULL,NULL,NULL,0),
  (8,1,1,'physical',902,16777216,9,6,NULL,8000000,NULL,NULL,NULL,NULL,0),
  (9,1,NULL,'host',140000000000000,67108864,10,3,NULL,9000000,NULL,NULL,NULL,NULL,0),
  (10,1,1,'managed',6442450944,134217728,13,7,NULL,10000000,NULL,NULL,NULL,NULL,0),
  (11,1,1,'device',4341104640,2097152,8,3,NULL,11000000,NULL,NULL,1,1,1),
  (13,1,1,'async',7516192768,4194304,11,7,7,13000000,NULL,NULL,NULL,NULL,0),
  (14,1,1,'device',4362076160,20971520,8,3,NULL,14000000,10000000,24,1,1,1),
  (16,1,1,'imported',903,33554432,NULL,6,NULL,16000000,NULL,NULL,NULL,NULL,0);
INSERT INTO driver_mapping VALUES
  (7,1,1,8589934592,16777216,7,7000000,1),
  (8,1,1,8606711808,16777216,8,8000000,1);
INSERT INTO sample VALUES
  (3000000,1,1,'device used',545259520),
  (13000000,1,1,'device used',627048448),
  (13000100,1,1,'pool reserved',33554432),
  (13000200,1,1,'pool used',4194304),
  (15000000,1,1,'device used',652214272),
  (29000000,1,1,'device used',631242752),
  (29000100,1,1,'pool reserved',33554432);
INSERT INTO gap VALUES(20,1,'cupti',22,20000000,22000000,'torch.profiler');
INSERT INTO activity VALUES
  (17,1,1,7,1,12,14500000,16000000,NULL),
  (18,1,1,13,2,NULL,14900000,15200000,8388608),
  (19,1,1,7,1,12,10000000,11000000,NULL),
  (25,1,1,7,1,12,NULL,NULL,NULL);
