echo text >a.db; : >b.db; head -c 5000 /dev/zero >c.db; mkdir d.db
for file in a.db b.db c.db d.db e.db; do tidemark repair $file; echo $?; done
