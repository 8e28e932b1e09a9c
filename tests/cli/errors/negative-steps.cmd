for r in -1 -3..4 ..-1 -2..; do tidemark phases torch.db -s "$r"; echo $?; done; tidemark phases torch.db -s ..0 | wc -l
