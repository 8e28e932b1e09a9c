# Beside a GPU a limit on reserved memory is the GPU's; asked for by its name, the host is not known.
tidemark check pools.db --process 1 --max-reserved 100MiB --max-fragmentation 99% --max-peak 100MiB
echo "exit status $?"
tidemark check pools.db --max-reserved 100MiB --max-fragmentation 99% -f csv
echo "exit status $?"
tidemark check pools.db --device cpu --max-reserved 100MiB --max-fragmentation 99%
echo "exit status $?"
tidemark check pools.db --process 1 --max-reserved 1MiB --max-growth 1MiB
echo "exit status $?"
tidemark check pools.db --max-reserved 100MiB
echo "exit status $?"
