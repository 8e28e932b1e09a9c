#include "rows.h"
#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* step,phase,allocated,max_allocated,reserved,max_reserved[,unsplit]; the step may be empty. */
static bool parse_row(const char *line, struct row *row)
{
    *row = (struct row){.step = -1};
    if (*line != ',' && sscanf(line, "%" SCNd64, &row->step) != 1)
        return false;
    const char *rest = strchr(line, ',');
    return rest && sscanf(rest, ",%15[^,],%" SCNd64 ",%" SCNd64 ",%" SCNd64 ",%" SCNd64 ",%" SCNd64,
                          row->phase, &row->allocated, &row->max_allocated, &row->reserved,
                          &row->max_reserved, &row->unsplit) >= 5;
}

static bool read_rows(FILE *file, struct rows *rows)
{
    char line[256];
    rows->count = 0;
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, "step,", 5) == 0)
            continue;
        if (rows->count == ROWS_MOST || !parse_row(line, &rows->row[rows->count++])) {
            fprintf(stderr, "not a row: %s", line);
            return false;
        }
    }
    return true;
}

int rows_run(const char *command, struct rows *rows)
{
    FILE *output = popen(command, "r");
    if (!output)
        return -1;
    bool sound = read_rows(output, rows);
    int status = pclose(output);
    return sound && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool rows_read(const char *path, struct rows *rows)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    bool sound = read_rows(file, rows);
    fclose(file);
    return sound;
}

const struct row *rows_find(const struct rows *rows, int64_t step, const char *phase)
{
    for (size_t i = 0; i < rows->count; i++)
        if (rows->row[i].step == step && strcmp(rows->row[i].phase, phase) == 0)
            return &rows->row[i];
    fprintf(stderr, "no row for step %" PRId64 ", phase %s\n", step, phase);
    REQUIRE(false && "the row is there");
    return NULL;
}
