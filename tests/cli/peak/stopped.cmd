# Why the recording stopped is stored: the warning says so, in reports and in check.
tidemark peak stopped.db
tidemark check stopped.db --max-peak 1G
