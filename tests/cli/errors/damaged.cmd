# Pages in the middle are gone: some report must notice, none may crash, and none prints half.
dd if=/dev/zero of=train.db bs=4096 seek=1 count=20 conv=notrunc 2>/dev/null
for report in info phases peak fit; do tidemark $report train.db >out 2>err; echo $? "$(wc -c <out)"; done
