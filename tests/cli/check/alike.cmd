# Ranks that fare alike have one table, of the worst; what fails has its own. JUnit and csv have each.
tidemark check alike.db --max-peak 90MiB --max-growth 2MiB --no-oom; echo $?
tidemark check alike.db --max-peak 90MiB --rank 3; echo $?
tidemark check alike.db --max-peak 60MiB --no-lost; echo $?
tidemark check alike.db --max-peak 90MiB --format csv; echo $?
tidemark check alike.db --max-peak 90MiB --junit out.xml >/dev/null; grep -c '<testcase' out.xml
