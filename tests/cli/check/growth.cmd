tidemark check leaks.db --max-growth 1M; echo $?; tidemark check leaks.db --max-growth 3M
