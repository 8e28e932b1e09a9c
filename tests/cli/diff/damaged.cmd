# Each of the two is noticed when its pages in the middle are gone; which one is said.
dd if=/dev/zero of=after.db bs=4096 seek=1 count=30 conv=notrunc 2>/dev/null
tidemark diff before.db after.db >out 2>err; echo $? "$(wc -c <out)"; cut -d: -f1,2 err
tidemark diff after.db before.db >out 2>err; echo $? "$(wc -c <out)"; cut -d: -f1,2 err
