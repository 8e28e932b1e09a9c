# Of a rehearsal --memory is that of the GPU, and the context that the recording has is taken off, as
# `rehearse --memory` takes it off; without --memory both figures are there.
python3 -c 'import sqlite3
db = sqlite3.connect("pressed.db")
db.executemany("INSERT INTO meta VALUES(?, ?)", [("rehearsal", "Example GPU, 24.0 GiB, capability 8.0"),
    ("rehearsal_memory", 24 << 30), ("rehearsal_context", 3 << 20), ("rehearsal_context_from", "computed: by a rule")])
db.commit()'
tidemark fit pressed.db
for memory in 41MiB 40MiB 2MiB; do
    tidemark fit pressed.db --memory $memory
    echo "exit status $?"
done
tidemark fit pressed.db --memory 41MiB --reserve 1MiB | grep -e verdict -e aside -e context
tidemark fit pressed.db --memory 41MiB -f json | grep -o -e '"reserve": [^,]*' -e '"smallest": [^,]*' -e '"context": [^,}]*' -e '"verdict": [^,]*'
# A GPU with another context in its place.
tidemark fit pressed.db --gpu t4 --memory 120MiB | grep -e verdict -e aside -e context
