# The gaps and the unattributed line add up to the highest rung less the lowest.
for db in frag pools train torch ranks leaks; do
    for moment in peak end 0 1; do
        tidemark ladder $db.db $moment -f csv | tail -n +2 |
            grep -v '^#' |
            awk -F, '$1 != process || $2 != device { if (NR > 1 && sum != high - low) print "off by", high - low - sum
                                                     process = $1; device = $2; low = ""; sum = 0 }
                     $4 != "" { if (low == "") low = $4; high = $4 }
                     { sum += $5 }
                     END { if (sum != high - low) print "off by", high - low - sum }'
    done
done
# What peak shows is the same ladder.
tidemark ladder train.db -f csv | grep -v unattributed >one
tidemark peak train.db -f csv | sed -n '/^# ladder/,/^$/p' | tail -n +2 | grep . | cmp - one && echo same
