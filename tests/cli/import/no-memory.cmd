echo '{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 20, "dur": 30}]}' > trace.json
tidemark import trace.json -o run.db; code=$?; test -e run.db && echo it is there; exit $code
