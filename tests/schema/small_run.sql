-- A small run, written by hand, so that every answer can be worked out with a pencil. Bytes are
-- given in MiB (`<< 20`), and the event number seq happens at seq milliseconds.
--
-- Process 1, cuda:0, heap 1, four steps. What is allocated after each event:
--
--   seq  1  segment of 2000                  phase 1 other          no step   1..9
--   seq  2  + 400  p   parameter      400
--   seq  3  +  50  i   tagged input   450
--   seq  4  +  30  t   temporary      480
--   seq  8  -  30  t                  450
--   seq 11  + 200  a0  activation     650    phase 2 forward        step 0   10..19
--   seq 12  +  60  w0  workspace      710
--   seq 13  -  60  w0                 650
--   seq 15  + 100  a1  activation     750    phase 3 user attention, inside 2  14..17
--   seq 18  +  10  x0  leaked         760
--   seq 21  + 120  l0  logits         880    phase 4 loss           step 0   20..29
--   seq 31  + 400  g0  gradient      1280    phase 5 backward       step 0   30..39
--   seq 32  - 100  a1                1180
--   seq 33  - 200  a0                 980
--   seq 41  + 800  s   Adam's state  1780    phase 6 optimizer      step 0   40..49
--   seq 42  +  40  w1  workspace     1820
--   seq 43  -  40  w1                1780
--   seq 51  - 400  g0                1380    phase 7 zero_grad      step 1   50..54
--   seq 56  + 200  a2  activation    1580    phase 8 forward        step 1   55..59
--   seq 57  +  10  x1  leaked        1590
--   seq 61  + 120  l1  logits        1710    phase 9 loss           step 1   60..69
--   seq 62  - 120  l0                1590
--   seq 70  segment of 1000                  phase 10 backward      step 1   70..79
--   seq 71  + 400  g1  gradient      1990    <- the peak
--   seq 72  - 200  a2                1790
--   seq 81  +  40  w2  workspace     1830    phase 11 optimizer     step 1   80..89
--   seq 82  -  40  w2                1790
--   seq 91  +  10  x2  leaked        1800    phase 12 forward       step 2   90..94
--   seq 92  - 120  l1                1680
--   seq 96  +  10  x3  leaked        1690    phase 13 forward       step 3   95..104
--   seq 98  -  50  i                 1640
--
-- Process 2, cpu, heap 2, one phase without a step (106..110): seq 107 + 5000 b, 3 frees lost.

INSERT INTO meta VALUES('tidemark_version', '0.1.0'), ('started', '2026-01-02T03:04:05Z');

INSERT INTO process VALUES
  (1, 100, NULL, 'root', 0, 105000000, 0, 0, 2, 'node', 'python3 train.py', 'pytorch', NULL,
   'exit', 0, NULL, 1, 104, 34),
  (2, 101, 1, 'spawn', 105000000, 111000000, 1, 1, 2, 'node', 'python3 train.py', 'pytorch',
   'no CUDA device', 'signal', NULL, 9, 106, 110, 3);

INSERT INTO device VALUES
  (1, 'cuda', 0, 'A device', 8000 << 20),
  (2, 'cpu', 0, NULL, NULL);

INSERT INTO heap VALUES (1, 1, 1, 0, 0, NULL), (2, 2, 2, 0, 0, NULL);

INSERT INTO string VALUES
  (1, 'build'), (2, 'model.py'), (3, 'forward'), (4, 'loss_of'), (5, 'train.py'),
  (6, 'backward'), (7, 'step'), (8, 'adam.py'), (9, 'remember'), (10, 'main'),
  (11, '/opt/nccl/lib/libnccl.so.2'), (12, '/usr/local/cuda/lib64/libcublas.so.13'),
  (13, '/opt/torch/lib/libc10_cuda.so'), (14, 'cudaMalloc'), (15, 'cuMemCreate'),
  (16, 'cudaHostAlloc');

-- The driver: the two segments, 64 of NCCL's, 8 and 22 of cuBLAS's, which gave 16 back before the
-- peak; 256 of the host.
INSERT INTO driver_memory VALUES
  (1, 1, 1, 'device', 1 << 40, 2000 << 20, 14, 13, NULL, 1000000, NULL, NULL, NULL, 1, 7),
  (5, 1, 1, 'physical', 77, 64 << 20, 15, 11, NULL, 5000000, NULL, NULL, NULL, NULL, 0),
  (6, 1, 1, 'device', 2 << 40, 8 << 20, 14, 12, NULL, 6000000, NULL, NULL, NULL, NULL, 0),
  (7, 1, NULL, 'host', 3 << 40, 256 << 20, 16, 13, NULL, 7000000, NULL, NULL, NULL, NULL, 0),
  (14, 1, 1, 'device', 4 << 40, 16 << 20, 14, 12, NULL, 14000000, 50000000, 64, NULL, NULL, 0),
  (63, 1, 1, 'device', 5 << 40, 22 << 20, 14, 12, NULL, 63000000, NULL, NULL, NULL, NULL, 0),
  (70, 1, 1, 'device', 6 << 40, 1000 << 20, 14, 13, NULL, 70000000, NULL, NULL, NULL, 1, 1);
INSERT INTO driver_mapping VALUES (5, 1, 1, 7 << 40, 64 << 20, 5, 5000000, 1);

INSERT INTO frame VALUES
  (1, 1, 2, 10), (2, 3, 2, 31), (3, 4, 5, 52), (4, 6, NULL, NULL), (5, 7, 8, 99), (6, 9, 5, 77),
  (7, 10, 5, NULL);

INSERT INTO site VALUES
  (1, 0, 1), (1, 1, 7),
  (2, 0, 2), (2, 1, 7),
  (3, 0, 3), (3, 1, 7),
  (4, 0, 4),
  (5, 0, 5), (5, 1, 7),
  (6, 0, 6), (6, 1, 2), (6, 2, 7);

INSERT INTO tag VALUES (1, 5, 'batch');

INSERT INTO phase(id,process,thread,parent,ordinal,kind,name,step,begin_seq,end_seq,begin_ns,end_ns,scope,ended) VALUES
  (1,  1, NULL, NULL, 0, 'other',     'other',      NULL,  1,   9,   1000000,   9000000, 'process', 'end'),
  (2,  1, 100,  NULL, 0, 'forward',   'forward',    0,    10,  19,  10000000,  19000000, 'process', 'end'),
  (3,  1, 100,  2,    0, 'user',      'attention',  0,    14,  17,  14000000,  17000000, 'process', 'end'),
  (4,  1, 100,  NULL, 0, 'loss',      'loss',       0,    20,  29,  20000000,  29000000, 'process', 'end'),
  (5,  1, 100,  NULL, 0, 'backward',  'backward',   0,    30,  39,  30000000,  39000000, 'process', 'end'),
  (6,  1, 100,  NULL, 0, 'optimizer', 'optimizer',  0,    40,  49,  40000000,  49000000, 'process', 'end'),
  (7,  1, 100,  NULL, 0, 'zero_grad', 'zero_grad',  1,    50,  54,  50000000,  54000000, 'process', 'end'),
  (8,  1, 100,  NULL, 0, 'forward',   'forward',    1,    55,  59,  55000000,  59000000, 'process', 'end'),
  (9,  1, 100,  NULL, 0, 'loss',      'loss',       1,    60,  69,  60000000,  69000000, 'process', 'end'),
  (10, 1, 100,  NULL, 0, 'backward',  'backward',   1,    70,  79,  70000000,  79000000, 'process', 'end'),
  (11, 1, 100,  NULL, 0, 'optimizer', 'optimizer',  1,    80,  89,  80000000,  89000000, 'process', 'end'),
  (12, 1, 100,  NULL, 0, 'forward',   'forward',    2,    90,  94,  90000000,  94000000, 'process', 'end'),
  (13, 1, 100,  NULL, 0, 'forward',   'forward',    3,    95, 104,  95000000, 104000000, 'process', 'end'),
  (20, 2, NULL, NULL, 0, 'other',     'other',      NULL, 106, 110, 106000000, 110000000, 'process', 'process end');

-- phase, device, begin, allocated, requested, active, reserved, inactive_split, max_allocated, its seq,
-- max_reserved, peak, its seq, its ns, reserved then, allocs, frees, alloc_bytes
INSERT INTO phase_device VALUES
  (1,  1,    0 << 20,  450 << 20, NULL,  450 << 20, 2000 << 20, 500 << 20,  480 << 20,  4, 2000 << 20,  480 << 20,    4,  4000000, 2000 << 20, 3, 1,  480 << 20),
  (2,  1,  450 << 20,  760 << 20, NULL,  760 << 20, 2000 << 20, 500 << 20,  760 << 20, 18, 2000 << 20,  760 << 20,   18, 18000000, 2000 << 20, 4, 1,  370 << 20),
  (3,  1,  650 << 20,  750 << 20, NULL,  750 << 20, 2000 << 20, 500 << 20,  750 << 20, 15, 2000 << 20,  750 << 20,   15, 15000000, 2000 << 20, 1, 0,  100 << 20),
  (4,  1,  760 << 20,  880 << 20, NULL,  880 << 20, 2000 << 20, 500 << 20,  880 << 20, 21, 2000 << 20,  880 << 20,   21, 21000000, 2000 << 20, 1, 0,  120 << 20),
  (5,  1,  880 << 20,  980 << 20, NULL,  980 << 20, 2000 << 20, 500 << 20, 1280 << 20, 31, 2000 << 20, 1280 << 20,   31, 31000000, 2000 << 20, 1, 2,  400 << 20),
  (6,  1,  980 << 20, 1780 << 20, NULL, 1780 << 20, 2000 << 20, 220 << 20, 1820 << 20, 42, 2000 << 20, 1820 << 20,   42, 42000000, 2000 << 20, 2, 1,  840 << 20),
  (7,  1, 1780 << 20, 1380 << 20, NULL, 1380 << 20, 2000 << 20, 620 << 20, 1820 << 20, 42, 2000 << 20, 1780 << 20, NULL,     NULL,       NULL, 0, 1,    0 << 20),
  (8,  1, 1380 << 20, 1590 << 20, NULL, 1590 << 20, 2000 << 20, 410 << 20, 1820 << 20, 42, 2000 << 20, 1590 << 20,   57, 57000000, 2000 << 20, 2, 0,  210 << 20),
  (9,  1, 1590 << 20, 1590 << 20, NULL, 1590 << 20, 2000 << 20, 410 << 20, 1820 << 20, 42, 2000 << 20, 1710 << 20,   61, 61000000, 2000 << 20, 1, 1,  120 << 20),
  (10, 1, 1590 << 20, 1790 << 20, NULL, 1790 << 20, 3000 << 20, 600 << 20, 1990 << 20, 71, 3000 << 20, 1990 << 20,   71, 71000000, 3000 << 20, 1, 1,  400 << 20),
  (11, 1, 1790 << 20, 1790 << 20, NULL, 1790 << 20, 3000 << 20, 600 << 20, 1990 << 20, 71, 3000 << 20, 1830 << 20,   81, 81000000, 3000 << 20, 1, 1,   40 << 20),
  (12, 1, 1790 << 20, 1680 << 20, NULL, 1680 << 20, 3000 << 20, 600 << 20, 1990 << 20, 71, 3000 << 20, 1800 << 20,   91, 91000000, 3000 << 20, 1, 1,   10 << 20),
  (13, 1, 1680 << 20, 1640 << 20, NULL, 1640 << 20, 3000 << 20, 600 << 20, 1990 << 20, 71, 3000 << 20, 1690 << 20,   96, 96000000, 3000 << 20, 1, 1,   10 << 20),
  (20, 2,    0 << 20, 5000 << 20, 5000 << 20, NULL,       NULL,      NULL, 5000 << 20, 107, NULL, 5000 << 20, 107, 107000000, NULL, 1, 0, 5000 << 20);

INSERT INTO stretch VALUES
  (1, 1, 1), (1, 10, 2), (1, 14, 3), (1, 18, 2), (1, 20, 4), (1, 30, 5), (1, 40, 6), (1, 50, 7),
  (1, 55, 8), (1, 60, 9), (1, 70, 10), (1, 80, 11), (1, 90, 12), (1, 95, 13), (2, 106, 20);

INSERT INTO segment VALUES
  (1,  1, 140000000000000, 2000 << 20, 1000000, NULL, NULL, 1),
  (70, 1, 140010000000000, 1000 << 20, 70000000, NULL, NULL, 4);

-- seq, heap, address, size, requested, alloc_ns, life_ns, free_seq, site, tag, segment
INSERT INTO allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,segment)
SELECT column1, column2, 140000000000000 + (column1 << 30), column3 << 20, column4,
       column1 * 1000000,
       CASE WHEN column5 IS NULL THEN -70368744177664 ELSE (column5 - column1) * 1000000 END,
       coalesce(column5, -2147483648), column6, column7, column8
  FROM (VALUES
  (2,   1,  400, NULL, NULL, 1,    NULL, 1),
  (3,   1,   50, NULL, 98,   3,    1,    1),
  (4,   1,   30, NULL, 8,    1,    NULL, 1),
  (11,  1,  200, NULL, 33,   2,    NULL, 1),
  (12,  1,   60, NULL, 13,   2,    NULL, 1),
  (15,  1,  100, NULL, 32,   2,    NULL, 1),
  (18,  1,   10, NULL, NULL, 6,    NULL, 1),
  (21,  1,  120, NULL, 62,   3,    NULL, 1),
  (31,  1,  400, NULL, 51,   4,    NULL, 1),
  (41,  1,  800, NULL, NULL, 5,    NULL, 1),
  (42,  1,   40, NULL, 43,   5,    NULL, 1),
  (56,  1,  200, NULL, 72,   2,    NULL, 1),
  (57,  1,   10, NULL, NULL, 6,    NULL, 1),
  (61,  1,  120, NULL, 92,   3,    NULL, 1),
  (71,  1,  400, NULL, NULL, 4,    NULL, 70),
  (81,  1,   40, NULL, 82,   5,    NULL, 70),
  (91,  1,   10, NULL, NULL, 6,    NULL, 1),
  (96,  1,   10, NULL, NULL, 6,    NULL, 1),
  (107, 2, 5000, 5000 << 20, NULL, NULL, NULL, NULL));

-- What lives after seq 50, and after seq 100, which is behind the peak.
INSERT INTO keyframe VALUES
  (50, 2), (50, 3), (50, 18), (50, 21), (50, 31), (50, 41),
  (100, 2), (100, 18), (100, 41), (100, 57), (100, 71), (100, 91), (100, 96);

-- Buckets of 2^25 ns, 33.55 ms: 0..33, 34..67, 68..100.
INSERT INTO curve VALUES
  (1, 'allocated', 25, 0,    0 << 20,    0 << 20, 1280 << 20,  980 << 20),
  (1, 'allocated', 25, 1,  980 << 20,  980 << 20, 1820 << 20, 1590 << 20),
  (1, 'allocated', 25, 2, 1590 << 20, 1590 << 20, 1990 << 20, 1640 << 20),
  (1, 'reserved', 25, 0,    0 << 20,    0 << 20, 2000 << 20, 2000 << 20),
  (1, 'reserved', 25, 2, 2000 << 20, 2000 << 20, 3000 << 20, 3000 << 20),
  (2, 'allocated', 25, 3,    0 << 20,    0 << 20, 5000 << 20, 5000 << 20);

INSERT INTO mark(seq,process,thread,at_ns,name,value) VALUES (94, 1, 100, 94000000, 'epoch', 1);
INSERT INTO clock VALUES (0, 5000000000, 1767323045000000000, 5000000000);
INSERT INTO lost VALUES (2, 107, 109, 107000000, 109000000, 'block_free', 3);
INSERT INTO torn VALUES (2, 110, 41, 110000000, 'dead');
INSERT INTO overhead VALUES
  (1, 'arena used', 4096, 'bytes'),
  (1, 'ring wait', 0, 'ns'),
  (NULL, 'writer cpu', 1500000, 'ns'),
  (NULL, 'events', 37, 'count');
