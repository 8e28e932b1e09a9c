#include "version.h"

#include <string.h>

#include "db.h"
#include "record.h"

void version_print(FILE *out)
{
    fprintf(out, "tidemark %s\n", TIDEMARK_VERSION);
    fprintf(out, "SQLite %s\n", db_sqlite_version());
    fprintf(out, "schema version %d\n", DB_VERSION);
    fprintf(out, "event format %u\n", record_event_format());
    if (strncmp(TIDEMARK_CUDA_PARTS, "none", 4) == 0)
        fprintf(out, "no CUDA parts in this build\n");
    else
        fprintf(out, "CUDA at build time: %s\n", TIDEMARK_CUDA_PARTS);
}
