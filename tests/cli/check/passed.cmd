tidemark check train.db --max-peak 5GiB --no-oom --no-lost --steps 0..1
