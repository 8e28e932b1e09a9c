# A file in a folder of its own, with its baseline beside it; an option wins.
mkdir ci && mv before.db ci/good.db
cat >ci/limits <<END
# what the job may take
max-peak = 400MiB   # each rank
baseline = good.db
max-increase = 10%
no-oom = yes
no-lost = no
END
tidemark check after.db --limits ci/limits; echo $?
tidemark check after.db --limits ci/limits --max-peak 300MiB --max-increase 20% --rank 0 --format csv
# A device may stand there, too; an option wins over it.
echo 'device = cpu' >>ci/limits
tidemark check after.db --limits ci/limits --format csv; echo $?
tidemark check after.db --limits ci/limits --device cuda:0 --rank 0 --format csv | head -2
