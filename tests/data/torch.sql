-- A step and a half of PyTorch, as the recorder finds its phases: a recomputed forward inside
-- backward, what runs after it, an evaluation without gradients, traffic between phases; call stacks
-- whose innermost frames are torch's own. Events were lost in step 1. Sizes in MiB, shifted; the
-- event of seq s is at s ms.
INSERT INTO meta VALUES('finished', 1);
INSERT INTO clock VALUES(0, 5000000000, 1760000000000000000, 5000000000);
INSERT INTO device VALUES(1, 'cuda', 0, 'Example GPU', 12884901888);
INSERT INTO heap VALUES(1, 1, 1, 0, 0, NULL);
INSERT INTO process VALUES(1,4712,NULL,'root',0,50000000,NULL,NULL,NULL,'box','python3 train.py',
  'torch python phases',NULL,'exit',0,NULL,1,46,46);
INSERT INTO string VALUES(1,'main'),(2,'step'),(3,'_single_tensor_adam'),(4,'forward'),
  (5,'_call_impl'),(6,'encode'),(7,'wrapper'),(8,'<module>'),(9,'run'),
  (11,'train.py'),(12,'/usr/lib/python3/dist-packages/torch/optim/adam.py'),
  (13,'/opt/conda/lib/python3.11/site-packages/torch/nn/modules/linear.py'),
  (14,'/opt/conda/lib/python3.11/site-packages/torch/nn/modules/module.py'),
  (15,'/srv/model/attention.py'),(16,'/usr/lib/python3.12/threading.py'),
  (17,'/opt/conda/lib/python3.11/site-packages/torch/optim/optimizer.py'),
  (18,'/srv/lib/python3_utils/pool.py'),(19,'<frozen importlib._bootstrap>');
INSERT INTO frame VALUES(1,1,11,80),(2,2,11,11),(3,3,12,410),(4,4,13,125),(5,5,14,1740),
  (6,6,15,31),(7,7,17,493),(8,8,11,90),(9,9,16,1012),(10,9,18,7),(11,8,19,NULL),(12,2,NULL,NULL);
-- 1: the program, then torch. 2: two of the program's frames, then torch. 3: nothing but libraries.
-- 4: the program's own frame innermost. 5: a folder that only looks like Python's. 6: no file known.
INSERT INTO site VALUES(1,0,3),(1,1,7),(1,2,2),(1,3,1),(2,0,4),(2,1,5),(2,2,6),(2,3,1),
  (3,0,3),(3,1,9),(4,0,1),(4,1,8),(5,0,4),(5,1,10),(6,0,12),(6,1,1),(7,0,4),(7,1,11),(7,2,12),(7,3,1);
INSERT INTO phase(id,process,thread,parent,ordinal,kind,name,step,begin_seq,end_seq,begin_ns,end_ns,
                  scope,ended)
SELECT column1, 1, CASE WHEN column3 <> 'other' THEN 4712 END, column2, 0, column3, column4, column5,
       column6, column7, column6 * 1000000, column7 * 1000000, 'process',
       CASE column1 WHEN 12 THEN 'process end' ELSE 'end' END
  FROM (VALUES
  (1,NULL,'other','other',NULL,1,3),
  (2,NULL,'forward','forward',0,4,12),
  (3,2,'user','encoder.layers.0',0,5,9),
  (4,NULL,'loss','loss',0,13,15),
  (5,NULL,'backward','backward',0,16,25),
  (6,5,'recompute','recompute',0,17,20),
  (7,NULL,'after_backward','after backward',0,26,28),
  (8,NULL,'other','other',0,29,30),
  (9,NULL,'optimizer','optimizer',0,31,35),
  (10,NULL,'forward_no_grad','forward (no grad)',1,36,39),
  (11,NULL,'forward','forward',1,40,46),
  (12,11,'user','encoder.layers.0',1,41,46),
  (13,12,'user','self_attn.scaled_dot_product_attention',1,42,44));
-- phase, begin_allocated, allocated, max_allocated, phase_peak, its seq, allocs, frees, alloc_bytes
INSERT INTO phase_device
SELECT column1, 1, column2 << 20, column3 << 20, NULL, NULL, 1000 << 20, NULL, column4 << 20, NULL,
       1000 << 20, column5 << 20, column6, column6 * 1000000, 1000 << 20, column7, column8,
       column9 << 20
  FROM (VALUES
  (1,0,150,150,150,2,2,0,150),
  (2,150,450,650,650,7,3,1,600),
  (3,150,350,650,650,7,2,1,500),
  (4,450,490,650,490,14,1,0,40),
  (5,490,290,840,840,21,2,3,350),
  (6,490,740,740,740,18,1,0,250),
  (7,290,290,840,300,27,1,1,10),
  (8,290,250,840,290,NULL,0,1,0),
  (9,250,450,840,480,33,2,1,230),
  (10,450,450,840,510,37,1,1,60),
  (11,450,650,950,950,43,2,1,500),
  (12,450,650,950,950,43,2,1,500),
  (13,450,650,950,950,43,2,1,500));
INSERT INTO stretch VALUES(1,1,1),(1,4,2),(1,5,3),(1,9,2),(1,13,4),(1,16,5),(1,17,6),(1,20,5),
  (1,26,7),(1,29,8),(1,31,9),(1,36,10),(1,40,11),(1,41,12),(1,42,13),(1,44,12);
INSERT INTO allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,segment)
SELECT column1, 1, column1 * 1073741824, column2 << 20, column2 << 20, column1 * 1000000,
       coalesce((column3 - column1) * 1000000, -70368744177664), coalesce(column3, -2147483648),
       column4, NULL, NULL
  FROM (VALUES
  (1,100,NULL,4),(2,50,NULL,6),(6,200,23,2),(7,300,8,2),(10,100,24,5),(14,40,29,4),(18,250,22,2),
  (21,100,NULL,3),(27,10,28,3),(32,200,NULL,1),(33,30,34,1),(37,60,38,7),(42,200,NULL,2),
  (43,300,44,7));
INSERT INTO lost VALUES(1,45,46,45000000,46000000,'block_free',12);
