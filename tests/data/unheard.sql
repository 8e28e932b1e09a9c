-- A GPU whose driver was not heard three times, the last time to the end: at the peak, seq 15; from
-- 22 to 23 ms; and from 25 ms on. The event of seq s is at s ms. Of the allocator as in gpu.sql.
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
  (5,1,1,'device',5368709120,8388608,8,4,NULL,5000000,11000000,14,NULL,NULL,0),
  (11,1,1,'device',4341104640,2097152,8,3,NULL,11000000,NULL,NULL,1,1,1),
  (14,1,1,'device',4362076160,20971520,8,3,NULL,14000000,10000000,24,1,1,1);
INSERT INTO gap VALUES
  (13,1,'cupti',16,13000000,16000000,'torch.profiler'),
  (22,1,'cupti',23,22000000,23000000,'torch.profiler'),
  (25,1,'cupti',NULL,25000000,NULL,'torch.profiler'),
  (26,1,'nvtx',NULL,26000000,NULL,NULL);
