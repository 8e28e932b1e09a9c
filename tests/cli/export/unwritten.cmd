tidemark export --to csv train.db -o - >/dev/full; echo $?
python3 -c "
import os, subprocess
reader, writer = os.pipe()
os.close(reader)
print(subprocess.call([\"tidemark\", \"export\", \"--to\", \"csv\", \"train.db\", \"-o\", \"-\"], stdout=writer))"
