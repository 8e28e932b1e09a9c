#!/bin/sh
# `tidemark rehearse`: a CUDA program finds the cards that were asked for, the recording and its
# reports say so, and --steps ends the program.
tidemark=$3
. "$(dirname "$0")/lib.sh"
cards=$programs/prog_cards

# rehearse OPTIONS -- PROGRAM: as record.
rehearse() {
    rm -f run.db run.db-wal run.db-shm
    "$tidemark" rehearse -o run.db "$@" >out 2>err
    status=$?
}

rehearse --gpu t4 --gpus 2 -- "$cards"
is "$status" 0 "status"
is "$(cat out)" "cards 2
card 0 has 15843721216
half: 0
all: 2
card 1 has 15843721216
half: 0
all: 2
number 0, bytes 0" "two cards"
what="2 x Tesla T4, 14.8 GiB, capability 7.5"
is "$(ask "SELECT value FROM meta WHERE key = 'rehearsal'")" "$what" "meta"
"$tidemark" peak run.db >report 2>&1
head -1 report | grep -q "^rehearsed without a GPU, as on 2 x Tesla T4, 14.8 GiB" ||
    is "$(head -1 report)" yes "first line of peak"
for report in "phases" "info" "leaks" "ladder" "frag" "timeline"; do
    set -- $report
    command=$1
    shift
    "$tidemark" $command "$@" run.db >report 2>&1
    is "$(head -1 report)" "rehearsed without a GPU, as on $what" "first line of $command"
done
is "$(sed -n 2,3p report)" "1 size of a library's working memory is not known, taken as 0: \
cudnnGetConvolutionForwardWorkspaceSize ([thread prog_cards])
1 number that the program read is not computed, and was 0: copy ([thread prog_cards])" "what is not known"
"$tidemark" peak -f csv run.db | grep -q "^# rehearsed without a GPU, as on $what" ||
    is no yes "csv says so"
"$tidemark" info -f json run.db | grep -q "\"rehearsal\": *\"$what\"" || is no yes "json says so"

rehearse --gpu cc=8.6,memory=6GiB -- "$cards"
is "$(sed -n 2p out)" "card 0 has 6442450944" "a card made of parts"
rehearse --gpu t4 --memory 1GiB -- "$cards"
is "$(sed -n 2p out)" "card 0 has 1073741824" "--memory"

# Ended by us it went well; its own end is its own.
rehearse --gpu t4 --steps 3 -- "$cards" 1000000
is "$status" 0 "status of a program that was ended"
grep -q "ended after 3 steps, as --steps asks" err || is no yes "that it was ended"
steps=$(ask "SELECT count(DISTINCT step) FROM phase WHERE step IS NOT NULL")
[ "$steps" -ge 3 ] && [ "$steps" -lt 100000 ] || is "$steps" "3 or a few more" "steps"
is "$(ask "SELECT signal FROM process")" 2 "how it ended"
is "$("$tidemark" info run.db | sed -n 's/^ended  *//p')" "SIGINT, after 3 steps as --steps asked" "info of it"
"$tidemark" info run.db | grep -q "^rehearsed .*Tesla T4" || is no yes "info has the GPU"
"$tidemark" | grep -q "run.db .*ended after 3 steps (--steps)" || is "$("$tidemark" | head -5)" yes "the list has it"
rehearse --gpu t4 --steps 10 -- "$cards" 3
is "$status" 5 "status of a program that was quicker"

rehearse --gpu nothing -- "$cards"
is "$status" 2 "an unknown GPU"
rehearse -- "$cards"
is "$status" 2 "no GPU"
"$tidemark" rehearse --gpu list >out
is "$?" 0 "--gpu list"
grep -q "^t4 .*Tesla T4.*7.5" out || is no yes "the list has the T4"
is "$(awk 'length($0) > 80' out)" "" "the list at 80 columns"
rehearse --gpu a100 -- "$cards"
is "$status" 2 "a name that fits several"
grep -q "did you mean a100-40gb, a100-80gb or a100-80gb-pcie?" err || is "$(cat err)" hint "hint"
rehearse --gpu "NVIDIA GeForce RTX 4090" -- "$cards"
is "$(sed -n 2p out)" "card 0 has 25386352640" "a name as nvidia-smi prints it"

# Libraries that cannot be loaded: the program is not started, and it is said which.
bin=inst/bin
lib=inst/lib/tidemark
mkdir -p $bin $lib/rehearsal
cp "$tidemark" $bin/tidemark
cp "$guest" $lib/libtidemark.so
cp "$(dirname "$guest")"/../rehearsal/lib/*.so.1 $lib/rehearsal
built=$tidemark
tidemark=$work/$bin/tidemark
refused() {
    rehearse --gpu t4 -- sh -c 'echo ran'
    is "$status" 3 "status with $1"
    is "$(cat out; ls run.db 2>/dev/null)" "" "what ran or is left with $1"
    says "cannot rehearse: .*$2"
}
rehearse --gpu t4 -- "$cards"
is "$status" 0 "status of a copied installation"
mv $lib/rehearsal/libcuda.so.1 driver
: >$lib/rehearsal/libcuda.so.1
refused "an empty driver" "libcuda.so.1 cannot be loaded: file too short; install Tidemark again"
head -c 100000 driver >$lib/rehearsal/libcuda.so.1
refused "half a driver" "libcuda.so.1"
rm $lib/rehearsal/libcuda.so.1
refused "no driver" "no .*libcuda.so.1 that can be read: install Tidemark again"
mv driver $lib/rehearsal/libcuda.so.1
mv $lib/rehearsal/libnvidia-ml.so.1 nvml
refused "no NVML" "no .*libnvidia-ml.so.1 that can be read"
mv nvml $lib/rehearsal/libnvidia-ml.so.1
: >$lib/libtidemark.so
refused "an empty libtidemark.so" "libtidemark.so cannot be loaded: file too short"
tidemark=$built

# A Python without CUDA's build of PyTorch is found out before anything runs.
mkdir -p torch/lib
: >torch/__init__.py
printf '#!%s\nopen("ran", "w")\n' "$(command -v python3)" >train
chmod +x train
PYTHONPATH=$PWD rehearse --gpu t4 -- ./train
is "$status" 3 "status with a CPU build"
grep -q "CPU build of PyTorch" err || is "$(cat err)" "CPU build" "what it says"
[ ! -e ran ] || is yes no "the program was started"
: >torch/lib/libtorch_cuda.so
PYTHONPATH=$PWD rehearse --gpu t4 -- ./train
is "$status" 0 "status with CUDA's build"
[ -e ran ] || is no yes "the program was started"

end_of_tests
