/*
 * Any bytes behind the header of a log of RMM. By clang and with -DTIDEMARK_FUZZ=ON:
 *
 *     build/fuzz/tests/import/fuzz_rmm -max_total_time=600 tests/import/corpus_rmm
 */
#include "error.h"
#include "fuzz.h"
#include "fuzz_log.h"
#include "fuzz_whole.h"
#include "mem.h"
#include "rmm.h"

static const char header[] = "Thread,Time,Action,Pointer,Size,Stream\n";

/* One in 32, by the bytes: by the length a third of the corpus would be, and all that is made of
 * it, and a whole recording with its views takes a hundred times as long as the log alone. */
static bool as_a_whole(const uint8_t *bytes, size_t count)
{
    unsigned sum = 0;
    for (size_t i = 0; i < count; i++)
        sum = sum * 31 + bytes[i];
    return (sum >> 8) % 32 == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    size_t n = sizeof header - 1;
    uint8_t *all = mem_alloc(count + n, 1);
    struct import_result result = {0};
    struct block_log log = {0};
    struct pickle_input input;
    MUST(all != NULL);
    memcpy(all, header, n);
    memcpy(all + n, bytes, count);
    input_memory(&input, all, count + n);
    int err = rmm_read(&input, 0, &log, &result);
    MUST((err == BASE_OK) == (result.message[0] == '\0'));
    MUST(log.budget.most <= IMPORT_BUDGET_BASE + IMPORT_BUDGET_FACTOR * (count + n) + 65536);
    if (err == BASE_OK)
        fuzz_feed_log(&log);
    block_log_clear(&log);
    if (as_a_whole(bytes, count))
        fuzz_import_whole(all, count + n, err == BASE_OK, false);
    mem_free(all);
    return 0;
}
