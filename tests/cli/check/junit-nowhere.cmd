tidemark check train.db --no-oom --junit nosuch/out.xml
