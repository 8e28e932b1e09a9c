# One instant, one name: what phases calls the highest is where peak says that it was.
for db in train ranks torch; do
    tidemark phases $db.db | sed -n 's/^highest: .* in //p' >phases
    tidemark peak $db.db --all | sed -n 's/^where *//p; s/^highest: .* in //p' | sed 's/, [^,]* after the start.*//' >peak
    cmp phases peak && cat peak
done
