printf 'Thread,Time,Action,Pointer,Size,Stream\n1,14:21:19.998533,allocate,elsewhere,256,0\n' > rmm.log
tidemark import rmm.log -o run.db; code=$?; test -e run.db && echo it is there; exit $code
