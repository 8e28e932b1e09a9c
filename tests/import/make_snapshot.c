/* make_snapshot FILE BYTES: a snapshot of about that size, for benchmarks and tests of memory. */
#include <stdio.h>
#include <stdlib.h>

#include "pick.h"

int main(int argc, char **argv)
{
    struct pick pick = {0};
    if (argc != 3)
        return 2;
    pick.file = fopen(argv[1], "wb");
    if (!pick.file)
        return 1;
    /* Three events with 33 frames each take about 340 bytes. */
    pick_snapshot(&pick, 4, strtoull(argv[2], NULL, 10) / 340);
    fwrite(pick.out.data, 1, pick.out.count, pick.file);
    buf_clear(&pick.out);
    return fclose(pick.file) == 0 ? 0 : 1;
}
