{
echo Thread,Time,Action,Pointer,Size,Stream
echo 1979932,14:21:19.998533,allocate,0x30a000000,256,0
echo 1979932,14:21:20.998533,allocate,0x30b000000,1048576,7f8a38001020
echo '1979933,14:21:21.998530,allocate failure,(nil),99999999999,0'
echo 1979933,14:21:22.998530,free,0x30c000000,4096,0
printf 1980043,14:2
} > rmm.dev1.log
tidemark import rmm.dev1.log -o run.db && tidemark sql run.db 'SELECT address, size, stream FROM allocation JOIN heap ON heap.id = heap ORDER BY seq' && tidemark info run.db | grep cuda
