# At the peak these are the tables of `tidemark peak`.
for db in train torch ranks; do
    for part in by_category by_phase by_site; do
        tidemark peak $db.db --format csv | sed -n "/# $part/,/^$/p" | grep "^[^#]" >peak.csv
        tidemark live $db.db --format csv | sed -n "/# $part/,/^$/p" | grep "^[^#]" >live.csv
        diff peak.csv live.csv && echo "same $(wc -l <live.csv)"
    done
done
