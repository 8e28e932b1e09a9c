tidemark info counts.db | sed -n '/^Samples/,/^$/p;/^Counts/,/^$/p'
