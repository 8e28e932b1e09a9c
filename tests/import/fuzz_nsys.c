/*
 * Any bytes behind the head of an SQLite database, as an export of Nsight Systems. By clang and
 * with -DTIDEMARK_FUZZ=ON, from what the corpus has:
 *
 *     build/fuzz/tests/import/fuzz_nsys -max_len=40000 -max_total_time=600 tests/import/corpus_nsys
 */
#include <stdio.h>
#include <unistd.h>

#include "error.h"
#include "fuzz.h"
#include "fuzz_log.h"
#include "fuzz_whole.h"
#include "nsys.h"

static void feed_all(struct nsys *nsys)
{
    struct import_result result = {0};
    struct state_options options = {.flush_allocs = 64};
    static struct block_log_feed feeds[NSYS_PROCESSES];
    struct state *state = NULL;
    MUST(state_new(&state, &options) == BASE_OK);
    for (size_t i = 0; i < nsys->process_count; i++) {
        MUST(block_log_is_valid(&nsys->processes[i].log));
        feeds[i] = (struct block_log_feed){.log = &nsys->processes[i].log,
                                           .state = state,
                                           .live = "fuzz",
                                           .source = "fuzz",
                                           .argv = nsys->processes[i].name,
                                           .pid = nsys->processes[i].pid,
                                           .result = &result,
                                           .flush = fuzz_drop_rows,
                                           .self = state};
    }
    if (nsys->process_count)
        MUST(block_log_feed_all(feeds, nsys->process_count) == BASE_OK);
    MUST(state_is_valid(state));
    batch_free(state_flush(state, 0, true));
    state_free(state);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    struct import_result result = {0};
    struct nsys nsys;
    char path[128];
    snprintf(path, sizeof path, "%s/nsys.sqlite", fuzz_folder());
    FILE *file = fopen(path, "wb");
    MUST(file && fwrite(bytes, 1, count, file) == count && fclose(file) == 0);
    int err = nsys_read(path, &nsys, &result);
    MUST((err == BASE_OK) == (result.message[0] == '\0'));
    if (err == BASE_OK)
        feed_all(&nsys);
    nsys_clear(&nsys);
    unlink(path);
    return 0;
}
