# Causes, segments and sizes say the same of reserved.
for moment in 0 1 2 0/optimizer 1/backward end @37ms; do
    tidemark frag frag.db $moment --device cuda:0 --top 1000 -f csv >got
    reserved=$(sed -n '/^# frag/,/^$/p' got | sed -n 3p | cut -d, -f6)
    causes=$(sed -n '/^# causes/,/^$/p' got | tail -n +3 | grep . | cut -d, -f3 | awk "{ s += \$1 } END { printf \"%.0f\", s }")
    sizes=$(sed -n '/^# sizes/,/^$/p' got | tail -n +3 | grep . | cut -d, -f5 | awk "{ s += \$1 } END { printf \"%.0f\", s }")
    segments=$(sed -n '/^# segments/,/^$/p' got | tail -n +3 | grep . | cut -d, -f3 | awk "{ s += \$1 } END { printf \"%.0f\", s }")
    [ "$reserved" = "$causes" ] && [ "$causes" = "$sizes" ] && [ "$sizes" = "$segments" ] &&
        echo "$moment: $reserved"
done
# At the end of a phase, what the recorder counted is what is found.
for phase in 0/forward 0/backward 1/forward 1/backward; do
    tidemark frag frag.db $phase --device cuda:0 -f csv | sed -n '/^# frag/,/^$/p' | sed -n 3p |
        cut -d, -f6,7 >found
    tidemark sql frag.db -f csv "SELECT reserved, inactive_split FROM fragmentation
        WHERE step || '/' || phase = '$phase' AND device = 'cuda:0'" | tail -n +2 | cmp - found &&
        echo "$phase: $(cat found)"
done
