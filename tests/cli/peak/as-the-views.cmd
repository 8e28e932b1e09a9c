# The groupings are those of the views, which are a promise.
tidemark peak train.db -f csv | sed -n '/^# by_category/,/^$/p' | tail -n +3 | grep . >got
tidemark sql train.db -f csv "SELECT process, device, bytes, share, blocks, category
    FROM peak_by_category ORDER BY bytes DESC, category" | tail -n +2 >wanted
cut -d, -f1-3,5 got | sort >got.sorted
cut -d, -f1-3,5 wanted | sort | diff got.sorted - && echo same categories
tidemark peak train.db -f csv | sed -n '/^# by_site/,/^$/p' | tail -n +3 | grep . |
    cut -d, -f3,5,6 | sort >got
tidemark sql train.db -f csv "SELECT bytes, blocks, site FROM peak_by_site" | tail -n +2 |
    sort | diff got - && echo same sites
