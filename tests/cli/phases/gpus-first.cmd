# The memory of GPUs first, of whichever rank, also where a rank has host memory beside it
for report in phases ladder 'timeline --ascii'; do
    tidemark $report ranks.db | grep -oE '^[A-Z].* on (cpu|cuda:.)'
done
tidemark diff ranks.db ranks.db | grep -oE '^[A-Z].* on (cpu|cuda:.)'
tidemark phases ranks.db --format csv | sed 1,/^process/d | cut -d, -f1,2 | uniq
