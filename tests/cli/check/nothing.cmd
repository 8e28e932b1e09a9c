tidemark check silent.db --max-peak 1G --no-oom; echo $?; tidemark check empty.db --no-lost --format csv
