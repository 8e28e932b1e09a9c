tidemark export --to csv train.db -o - >/dev/full; echo $?
{ tidemark export --to csv train.db -o -; echo $? >status; } | true; cat status
