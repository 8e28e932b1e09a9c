-- A recording that could not be written to its end: the disk was full.
INSERT INTO meta VALUES('command', 'python3 train.py');
INSERT INTO meta VALUES('finished', 0);
INSERT INTO meta VALUES('stopped', 'no space left on the device');
INSERT INTO process(id, pid, origin, start_ns, argv, events) VALUES(1, 100, 'root', 0, 'python3 train.py', 20);
