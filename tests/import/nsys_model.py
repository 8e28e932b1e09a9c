"""nsys_model.py: exports of Nsight Systems, made by hand. Tables and columns are called as in schema 3.16
of nsys 2024.6 (what its documentation and public exports show); the rows are of a model that knows what
happened."""
import os
import random
import sqlite3

MIB = 1 << 20
KINDS = {0: "Pageable", 1: "Pinned", 2: "Device", 3: "Array", 4: "Managed", 5: "Device Static",
         6: "Managed Static", 7: "Unknown"}
OPERATIONS = {0: "Allocation", 1: "Deallocation"}

TABLES = {
    "StringIds": "id INTEGER NOT NULL PRIMARY KEY, -- ID, of (a) string\n value TEXT NOT NULL",
    "PROCESSES": "globalPid INTEGER, pid INTEGER, name TEXT",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs INTEGER, utcTime TEXT, localTime TEXT",
    "TARGET_INFO_GPU": "vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, totalMemory INTEGER",
    "META_DATA_EXPORT": "-- about the export\n name TEXT NOT NULL, value TEXT",
    "ENUM_CUDA_MEM_KIND": "id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT",
    "ENUM_CUDA_DEV_MEM_EVENT_OPER": "id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT",
    "ENUM_CUDA_MEMPOOL_OPER": "id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT",
    "CUPTI_ACTIVITY_KIND_RUNTIME":
        "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER,"
        " correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL,"
        " callchainId INTEGER",
    "CUDA_CALLCHAINS":
        "id INTEGER NOT NULL, symbol INTEGER NOT NULL, module INTEGER NOT NULL, unresolved INTEGER,"
        " originalIP INTEGER, stackDepth INTEGER NOT NULL, PRIMARY KEY (id, stackDepth)",
    "CUDA_GPU_MEMORY_USAGE_EVENTS":
        "start INTEGER NOT NULL, -- Event start timestamp (ns).\n globalPid INTEGER NOT NULL,"
        " deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, address INTEGER NOT NULL,"
        " pc INTEGER NOT NULL, bytes INTEGER NOT NULL, memKind INTEGER NOT NULL,"
        " memoryOperationType INTEGER NOT NULL, name TEXT, correlationId INTEGER, streamId INTEGER,"
        " localMemoryPoolAddress INTEGER, localMemoryPoolReleaseThreshold INTEGER,"
        " localMemoryPoolSize INTEGER, localMemoryPoolUtilizedSize INTEGER,"
        " importedMemoryPoolAddress INTEGER, importedMemoryPoolProcessId INTEGER",
    "CUDA_GPU_MEMORY_POOL_EVENTS":
        "start INTEGER NOT NULL, globalPid INTEGER NOT NULL, deviceId INTEGER NOT NULL,"
        " address INTEGER NOT NULL, operationType INTEGER NOT NULL, poolType INTEGER NOT NULL,"
        " correlationId INTEGER, minBytesToKeep INTEGER, localMemoryPoolReleaseThreshold INTEGER,"
        " localMemoryPoolSize INTEGER, localMemoryPoolUtilizedSize INTEGER",
    "NVTX_EVENTS":
        "start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER,"
        " category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER,"
        " textId INTEGER, domainId INTEGER",
}


def gid(pid, tid=0):
    return 1 << 56 | pid << 24 | tid


class Export:
    def __init__(self, path, page=4096, tables=None, kinds=KINDS, operations=OPERATIONS, wal=False):
        for name in (path, path + "-wal", path + "-shm"):
            if os.path.exists(name):
                os.unlink(name)
        self.path, self.tables, self.texts, self.correlation = path, tables or TABLES, {}, 0
        self.kind = {v: k for k, v in kinds.items()}
        self.operation = {v: k for k, v in operations.items()}
        self.db = sqlite3.connect(path)
        self.db.execute(f"PRAGMA page_size = {page}")
        if wal:
            self.db.execute("PRAGMA journal_mode = WAL")
        for name, columns in self.tables.items():
            self.db.execute(f"CREATE TABLE {name} ({columns})")
        self.put("META_DATA_EXPORT", name="EXPORT_SCHEMA_VERSION", value="3.16.1")
        for table, numbers in (("ENUM_CUDA_MEM_KIND", kinds),
                               ("ENUM_CUDA_DEV_MEM_EVENT_OPER", operations),
                               ("ENUM_CUDA_MEMPOOL_OPER", {0: "Created", 1: "Destroyed"})):
            for number, label in numbers.items():
                self.put(table, id=number, name="X", label=label)

    def put(self, table, **row):
        """A table or column that this export has not is left out."""
        if table not in self.tables:
            return
        there = {r[1] for r in self.db.execute(f"PRAGMA table_info({table})")}
        row = {k: v for k, v in row.items() if k in there}
        self.db.execute("INSERT INTO %s(%s) VALUES (%s)" % (
            table, ", ".join(row), ", ".join("?" * len(row))), tuple(row.values()))

    def text(self, text):
        if text not in self.texts:
            self.texts[text] = len(self.texts) + 1
            self.put("StringIds", id=self.texts[text], value=text)
        return self.texts[text]

    def memory(self, at, pid, device, address, size, kind="Device", what="Allocation", call=None,
               chain=None, tid=None, **more):
        self.correlation += 1
        self.put("CUDA_GPU_MEMORY_USAGE_EVENTS", start=at, globalPid=gid(pid), deviceId=device,
                 contextId=1, address=address, pc=0, bytes=size, memKind=self.kind[kind],
                 memoryOperationType=self.operation[what], correlationId=self.correlation, **more)
        if call:
            self.put("CUPTI_ACTIVITY_KIND_RUNTIME", start=at - 5, end=at, eventClass=0,
                     globalTid=gid(pid, tid or pid), correlationId=self.correlation,
                     nameId=self.text(call), returnValue=0, callchainId=chain)

    def chain(self, number, *frames):
        for depth, (symbol, module) in enumerate(frames):
            self.put("CUDA_CALLCHAINS", id=number, symbol=self.text(symbol),
                     module=self.text(module), unresolved=0, originalIP=0, stackDepth=depth)

    def range(self, at, end, pid, text=None, text_id=None, kind=59, domain=0, tid=None):
        self.put("NVTX_EVENTS", start=at, end=end, eventType=kind, text=text,
                 globalTid=gid(pid, tid or pid), domainId=domain,
                 textId=self.text(text_id) if text_id else None)

    def close(self):
        self.db.commit()
        self.db.close()


class Model:
    """What two processes took on their devices, and what is left of it."""

    def __init__(self, export, seed=1, events=600, pids=(100, 101)):
        self.random, self.export, self.live, self.rows = random.Random(seed), export, {}, []
        self.now, self.held, self.most = 1000, {}, {}
        for pid in pids:
            export.put("PROCESSES", globalPid=gid(pid), pid=pid, name="python3 train.py")
        for _ in range(events):
            self.step(self.random.choice(pids))

    def step(self, pid):
        self.now += self.random.choice((0, 1, 50, 100000))
        device, mine = pid % 2, [k for k in self.live if k[0] == pid]
        if mine and self.random.random() < 0.45:
            key = self.random.choice(mine)
            size, kind = self.live.pop(key)
            self.export.memory(self.now, pid, device, key[1], size, kind, "Deallocation", "cudaFree")
            return self.count(pid, kind, -size)
        address = 0x7f0000000000 + (self.random.randrange(1 << 16) << 21)
        if (pid, address) in self.live:
            return None
        size = self.random.randrange(1, 4096) * 512 % (2 * MIB) or 512
        kind = self.random.choice(("Device", "Device", "Device", "Managed", "Pinned"))
        self.live[pid, address] = (size, kind)
        self.rows.append((pid, {"Device": "device", "Managed": "managed", "Pinned": "host"}[kind],
                          address, size))
        self.export.memory(self.now, pid, device, address, size, kind, call="cudaMalloc_v3020")
        return self.count(pid, kind, size)

    def count(self, pid, kind, size):
        if kind == "Device":
            self.held[pid] = self.held.get(pid, 0) + size
            self.most[pid] = max(self.most.get(pid, 0), self.held[pid])


def small(path, page=512):
    """A bit of everything, for the fuzzer and the golden case."""
    export = Export(path, page)
    base = 0x7f0000000000
    export.put("PROCESSES", globalPid=gid(100), pid=100, name="./train")
    export.put("TARGET_INFO_SESSION_START_TIME", utcEpochNs=1700000000000000000)
    export.put("TARGET_INFO_GPU", vmId=1, id=0, name="GPU", totalMemory=80 << 30)
    export.chain(1, ("load_weights", "/opt/train"), ("main", "/opt/train"))
    export.chain(2, ("main", "/opt/train"))
    export.memory(1000, 100, 0, base, 512 * MIB, call="cudaMalloc_v3020", chain=1)
    export.memory(2000, 100, 0, base + (1 << 30), 256 * MIB, call="cudaMalloc_v3020", chain=2)
    export.memory(2500, 100, 0, base + (2 << 30), 64 * MIB, "Pinned", call="cudaHostAlloc_v3020")
    pool = {"localMemoryPoolAddress": 0x55, "localMemoryPoolSize": 128 * MIB, "streamId": 7}
    export.memory(3000, 100, 0, base + (3 << 30), 32 * MIB, call="cudaMallocAsync_v11020", **pool)
    export.memory(4000, 100, 0, base + (3 << 30), 32 * MIB, what="Deallocation", **pool)
    export.put("CUDA_GPU_MEMORY_POOL_EVENTS", start=4500, globalPid=gid(100), deviceId=0, address=0x55,
               operationType=1, poolType=1, localMemoryPoolSize=0)
    export.memory(5000, 100, 0, base + (1 << 30), 256 * MIB, what="Deallocation")
    export.memory(6000, 100, 0, base + (1 << 30), 1024 * MIB, call="cudaMalloc_v3020", chain=2)
    export.range(0, None, 100, text_id="NCCL", kind=75, domain=1)
    export.range(900, 1500, 100, "load")
    export.range(1900, 3500, 100, text_id="iteration 1")
    export.range(3900, 7000, 100, text_id="iteration 2")
    export.range(3950, 6900, 100, "epoch", kind=60)
    export.range(2100, 2200, 100, text_id="ncclAllReduce", domain=1)
    export.range(2300, None, 100, "here", kind=34)
    export.close()


if __name__ == "__main__":
    import sys
    small(sys.argv[1])
