{
echo '{"schemaVersion": 1, "traceEvents": ['
echo '{"ph": "X", "cat": "user_annotation", "name": "load", "pid": 9, "tid": 9, "ts": 10.5, "dur": 90},'
echo '{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 9, "tid": 9, "ts": 20, "dur": 30},'
echo '{"ph": "i", "name": "[memory]", "pid": 9, "tid": 9, "ts": 21.25, "args": {"Total Reserved": 2097152,'
echo '"Total Allocated": 1536, "Bytes": 1024, "Device Id": 1, "Device Type": 1, "Addr": 4096}}]}'
} > trace.json
tidemark import trace.json -o run.db && tidemark peak run.db --sites
