/*
 * Any bytes as a trace of torch.profiler. By clang and with -DTIDEMARK_FUZZ=ON:
 *
 *     build/fuzz/tests/import/fuzz_kineto -max_total_time=600 tests/import/corpus_kineto
 */
#include "error.h"
#include "fuzz.h"
#include "fuzz_log.h"
#include "fuzz_whole.h"
#include "kineto.h"

static bool is_json(const uint8_t *bytes, size_t count)
{
    while (count && *bytes && strchr(" \t\r\n", *bytes)) {
        bytes++;
        count--;
    }
    return count && (*bytes == '{' || *bytes == '[');
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    struct import_result result = {0};
    struct block_log log = {0};
    struct kineto_facts facts;
    struct pickle_input input;
    input_memory(&input, bytes, count);
    int err = kineto_read(&input, &log, &facts, &result);
    MUST((err == BASE_OK) == (result.message[0] == '\0'));
    MUST(log.budget.most <= IMPORT_BUDGET_BASE + IMPORT_BUDGET_FACTOR * count + 65536);
    if (err == BASE_OK)
        fuzz_feed_log(&log);
    block_log_clear(&log);
    if (count % 16 == 0 && is_json(bytes, count))
        fuzz_import_whole(bytes, count, err == BASE_OK, false);
    return 0;
}
