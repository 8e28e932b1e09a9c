#include "alloc.h"

void alloc_config_default(struct alloc_config *config)
{
    *config = (struct alloc_config){
        .max_split_size = UINT64_MAX,
        .max_non_split_rounding = ALLOC_LARGE_SEGMENT,
        .large_segment_size = ALLOC_LARGE_SEGMENT,
    };
}
