python3 -c 'import sqlite3
db = sqlite3.connect("report.sqlite")
db.executescript("""
CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, -- ID
    value TEXT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, globalTid INTEGER,
    correlationId INTEGER, nameId INTEGER NOT NULL, callchainId INTEGER);
CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER NOT NULL, globalPid INTEGER NOT NULL,
    deviceId INTEGER NOT NULL, address INTEGER NOT NULL, bytes INTEGER NOT NULL,
    memKind INTEGER NOT NULL, memoryOperationType INTEGER NOT NULL, correlationId INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL,
    text TEXT, globalTid INTEGER, textId INTEGER, domainId INTEGER);
INSERT INTO StringIds VALUES (1, "cudaMalloc_v3020"), (2, "iteration 1");
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (9, 167772171, 1, 1, NULL);
INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES
    (1000, 167772160, 0, 4096, 1048576, 2, 0, 1), (3000, 167772160, 0, 4194304, 2097152, 2, 0, 2),
    (5000, 167772160, 0, 4096, 1048576, 2, 1, 3);
INSERT INTO NVTX_EVENTS VALUES (500, 2000, 59, "load", 167772171, NULL, 0),
    (2500, 6000, 59, NULL, 167772171, 2, 0);
""")
db.commit()'
tidemark import report.sqlite -o run.db && tidemark phases run.db && tidemark peak run.db
