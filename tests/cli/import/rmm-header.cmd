# A log of RMM without its first line, with another one, with one above it; other texts.
record='17793,21:48:36.172824,allocate,0x7f0000000000,512,0'
echo "$record" >headless.log
printf 'Thread,Time,Action,Pointer,Size\n%s\n' "$record" >short.log
printf '# of Monday\nThread,Time,Action,Pointer,Size,Stream\n%s\n' "$record" >remark.log
printf 'a,b,c\n1,2,3\n' >table.csv
printf 'a text\000of bytes' >bytes
for file in headless.log short.log remark.log table.csv bytes; do
    tidemark import $file -o run.db 2>&1
    echo $?
done
gzip -c headless.log >packed.gz
tidemark import packed.gz -o run.db 2>&1
test ! -e run.db
