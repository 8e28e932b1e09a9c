#include "fuzz_log.h"

#include "error.h"
#include "fuzz.h"
#include "fuzz_whole.h"

void fuzz_feed_log(struct block_log *log)
{
    struct import_result result = {0};
    struct state_options options = {.flush_allocs = 64};
    struct state *state = NULL;
    MUST(block_log_is_valid(log));
    MUST(state_new(&state, &options) == BASE_OK);
    struct block_log_feed feed = {.log = log,
                                  .state = state,
                                  .live = "fuzz",
                                  .allocator = "fuzz",
                                  .source = "fuzz",
                                  .sizes = (enum block_log_sizes)(log->count % 3),
                                  .result = &result,
                                  .flush = fuzz_drop_rows,
                                  .self = state};
    MUST(block_log_feed(&feed) == BASE_OK);
    MUST(state_is_valid(state) && feed.run_ns >= 0);
    batch_free(state_flush(state, 0, true));
    state_free(state);
    block_log_clear(log);
}
