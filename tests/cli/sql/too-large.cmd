# The question's own mistakes: nothing is wrong with the recording.
tidemark sql train.db "SELECT length(randomblob(2000000000))"; echo $?
tidemark sql train.db "SELECT sum(9223372036854775807) FROM phase"; echo $?
