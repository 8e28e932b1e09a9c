tidemark check train.db --max-peak 4GiB --max-reserved 5GiB --max-fragmentation 10% --max-growth 1M --no-oom --no-lost --format json | python3 -m json.tool > /dev/null && echo valid
