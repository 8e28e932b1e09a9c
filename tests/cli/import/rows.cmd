{
printf '\200\004\225\345\002\000\000\000\000\000\000\175\224\050\214\010segments\224\135\224'
printf '\175\224\050\214\006device\224K\000\214\007address\224\212\006\000\000\000\000\000'
printf '\001\214\012total_size\224J\000\000\040\000\214\006stream\224K\000\214\006blocks\224'
printf '\135\224\050\175\224\050h\005\212\006\000\000\000\000\000\001\214\004size\224M\000'
printf '\004\214\016requested_size\224M\350\003\214\005state\224\214\020active_allocated\224'
printf '\214\006frames\224\135\224\175\224\050\214\004name\224\214\007forward\224\214\010fil'
printf 'ename\224\214\016/data/train.py\224\214\004line\224K\014uau\175\224\050h\005\212\006'
printf '\000\004\000\000\000\001h\013J\000\374\037\000h\014K\000h\015\214\010inactive\224h'
printf '\017\135\224ueua\214\015device_traces\224\135\224\135\224\050\175\224\050\214\006act'
printf 'ion\224\214\005alloc\224\214\004addr\224\212\006\000\004\000\000\000\001h\013M\210'
printf '\023h\007K\000\214\007time_us\224\212\007\000\100\036\030\044\012\006h\017h\020u\175'
printf '\224\050h\036\214\016free_requested\224h\040\212\006\000\004\000\000\000\001h\013M'
printf '\210\023h\007K\000h\041\212\007\320G\036\030\044\012\006u\175\224\050h\036\214\016fr'
printf 'ee_completed\224h\040\212\006\000\004\000\000\000\001h\013M\210\023h\007K\000h\041'
printf '\212\007\320G\036\030\044\012\006uea\214\024external_annotations\224\135\224\050\175'
printf '\224\050h\022\214\016ProfilerStep#3\224\214\005stage\224\214\005START\224h\004K\000h'
printf '\041\212\007\000\100\036\030\044\012\006u\175\224\050h\022\214\004load\224h\052h\053'
printf 'h\004K\000h\041\212\007\000\100\036\030\044\012\006u\175\224\050h\022h\055h\052\214'
printf '\003END\224h\004K\000h\041\212\007\304I\036\030\044\012\006u\175\224\050h\022h\051h'
printf '\052h/h\004K\000h\041\212\007\270K\036\030\044\012\006ue\214\022allocator_settings'
printf '\224\175\224\050\214\027PYTORCH_CUDA_ALLOC_CONF\224\214\024max_split_size_mb:64\224'
printf '\214\016max_split_size\224J\000\000\000\004uu.'
} > s.pickle
tidemark import s.pickle --output run.db 2> /dev/null
tidemark sql run.db "SELECT allocation, size, requested, site, alloc_ns, life_ns FROM allocations"
tidemark sql run.db "SELECT key, value FROM setting ORDER BY key"
tidemark sql run.db "SELECT origin, live, ended FROM process"
tidemark sql run.db "SELECT key, value FROM meta WHERE key NOT LIKE '%version' AND key <> 'event_format'"
tidemark sql run.db "SELECT * FROM clock"
