/*
 * Any bytes as a profile of live memory. By clang and with -DTIDEMARK_FUZZ=ON:
 *
 *     build/fuzz/tests/import/fuzz_pprof -max_total_time=600 tests/import/corpus_pprof
 */
#include "error.h"
#include "fuzz.h"
#include "fuzz_log.h"
#include "fuzz_whole.h"
#include "pprof.h"

/* As the table of formats asks for. */
static bool is_pprof(const uint8_t *bytes, size_t count)
{
    return count >= 4 && bytes[0] == 0x0a && bytes[1] >= 2 && bytes[1] <= 22 &&
           (bytes[2] == 0x08 || bytes[2] == 0x10);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    struct import_result result = {0};
    struct block_log log = {0};
    struct pprof_facts facts;
    struct pickle_input input;
    input_memory(&input, bytes, count);
    int err = pprof_read(&input, &log, &facts, &result);
    MUST((err == BASE_OK) == (result.message[0] == '\0'));
    MUST(log.budget.most <= IMPORT_BUDGET_BASE + IMPORT_BUDGET_FACTOR * count + 65536);
    if (err == BASE_OK)
        fuzz_feed_log(&log);
    block_log_clear(&log);
    if (count % 16 == 0 && is_pprof(bytes, count))
        fuzz_import_whole(bytes, count, err == BASE_OK, false);
    return 0;
}
