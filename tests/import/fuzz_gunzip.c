/*
 * Any bytes as a gzip file, in pieces of two sizes: the same comes out, and no more than may. By
 * clang and with -DTIDEMARK_FUZZ=ON:
 *
 *     build/fuzz/tests/import/fuzz_gunzip -max_total_time=600 tests/import/corpus_gunzip
 */
#include "fuzz.h"
#include "gunzip.h"
#include "mem.h"

#define MOST_BYTES ((uint64_t)1 << 20)

static uint64_t unpack(const uint8_t *bytes, size_t count, size_t step, uint64_t *sum,
                       const char **trouble)
{
    static struct gunzip gunzip;
    static unsigned char out[4096];
    struct pickle_input input;
    uint64_t whole = 0;
    size_t n;
    input_memory(&input, bytes, count);
    gunzip_start(&gunzip, &input);
    *sum = 0;
    while (whole < MOST_BYTES && (n = gunzip_read(&gunzip, out, step)) > 0) {
        MUST(gunzip_is_valid(&gunzip) && n <= step);
        for (size_t i = 0; i < n && whole < MOST_BYTES; i++, whole++)
            *sum = *sum * 31 + out[i];
    }
    MUST(whole == MOST_BYTES || gunzip.state == GUNZIP_END || gunzip.state == GUNZIP_WRONG);
    *trouble = whole == MOST_BYTES ? NULL : gunzip.trouble;
    gunzip_clear(&gunzip);
    return whole;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    uint64_t sums[2];
    const char *trouble[2];
    uint64_t large = unpack(bytes, count, 4096, &sums[0], &trouble[0]);
    uint64_t small = unpack(bytes, count, 1 + count % 97, &sums[1], &trouble[1]);
    MUST(large == small && sums[0] == sums[1] && trouble[0] == trouble[1]);
    return 0;
}
