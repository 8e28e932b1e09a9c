tidemark check leaks.db --max-reserved 1G; echo $?; tidemark check leaks.db --max-reserved 1G --allow-unknown
