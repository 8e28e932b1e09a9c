# What is reserved is not the allocator's.
tidemark fit pressed.db --memory 1024MiB --reserve 986MiB -f csv | grep -c 'MiB\|,fits,'
tidemark fit pressed.db --memory 1024MiB --reserve 987MiB -f csv | grep -c 'does not fit'
tidemark fit pressed.db --reserve 1GiB | grep 'smallest\|reserved\|set aside'
