# All changes together: as many names as have room, and how many more there are.
for width in 50 60 70 80 100; do
    COLUMNS=$width NO_COLOR=1 script -qec 'tidemark peak train.db' /dev/null | tr -d '\r' | grep ^together
done
tidemark peak train.db | grep ^together
