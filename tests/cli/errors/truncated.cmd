# The next step is named, by reports in any format.
head -c 9000 train.db >short.db
tidemark phases short.db 2>said
echo $?
tidemark peak short.db --format json 2>>said
sed 's/[0-9][0-9]* bytes of [0-9]*/N bytes of M/' said
