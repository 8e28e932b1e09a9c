mkfifo pipe.db
for words in "repair pipe.db" "repair --check pipe.db" "repair ." "info pipe.db"; do tidemark $words; echo $?; done
