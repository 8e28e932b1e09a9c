[ ! -w /dev/full ] || tidemark check train.db --no-oom --junit /dev/full
