tidemark check before.db --max-peak 306MiB; echo $?; tidemark check before.db --max-peak 306MiB --rank 0
