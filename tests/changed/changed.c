/*
 * Recordings with rows that no recorder writes; every report is asked of each.
 *
 *     changed columns [-e EVERY] [-f FROM] ROWS.sql...  each column of each recording in turn
 *     changed known FILE ROWS.sql...    each line "NAME: STATEMENTS" of the file, of NAME.sql
 *     changed any [-a|-r] [-m] [-n COUNT] [-s SEED] ROWS.sql... COUNT recordings with any changes
 *
 * -a: each is asked everything; -r: each report in one form. -m: changed_memory. -o NUMBER: only
 * this one, whose database is kept. Exit: 0, 1 if anything should not be, 99.
 */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "changed.h"
#include "mem.h"

/* Each report once: asked of each column. Of any changes nine of all, each report, or all. */
#define QUESTIONS_FIRST 26
#define QUESTIONS_SOME 9
#define QUESTIONS_MOST 64

struct options {
    size_t every, from, count, only;
    uint64_t seed;
    bool has_only;
    size_t always; /* this many questions, from the first */
};

struct folder {
    char path[64], changed[96], whole[96];
};

static char *read_rows(const char *path)
{
    struct buf text = {0};
    char part[4096];
    size_t n;
    FILE *file = fopen(path, "re");
    MUST(file);
    while ((n = fread(part, 1, sizeof part, file)) > 0)
        buf_add(&text, part, n);
    fclose(file);
    MUST(!text.broken && text.count > 0);
    return text.data;
}

static void make_folder(struct folder *folder)
{
    const char *shm = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(folder->path, sizeof folder->path, "%s/changed.XXXXXX", shm);
    MUST(mkdtemp(folder->path));
    snprintf(folder->changed, sizeof folder->changed, "%s/changed.db", folder->path);
    snprintf(folder->whole, sizeof folder->whole, "%s/whole.db", folder->path);
    MUST(setenv("TMPDIR", folder->path, 1) == 0); /* where repair works */
}

static void remove_folder(const struct folder *folder)
{
    static const char *const names[] = {"changed.db", "changed.db.out", "changed.db.err",
                                        "changed.db.made", "whole.db"};
    char name[160];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(name, sizeof name, "%s/%s", folder->path, names[i]);
        unlink(name);
    }
    if (rmdir(folder->path) < 0)
        printf("%s is not empty\n", folder->path);
}

static void change_columns(const char *rows, const char *name, const struct options *options,
                           const struct folder *folder, struct changed_answers *answers)
{
    char what[CHANGED_TEXT], said[CHANGED_TEXT + 300];
    bool asked[QUESTIONS_MOST] = {false};
    size_t count = changed_columns(rows, folder->whole);
    for (size_t i = 0; i < QUESTIONS_FIRST; i++)
        asked[i] = true;
    for (size_t i = options->from; i < count; i += options->every) {
        if ((options->has_only && options->only != i) ||
            !changed_column(folder->changed, rows, i, what))
            continue;
        snprintf(said, sizeof said, "%s -o %zu: %s", name, i, what);
        changed_ask(folder->changed, folder->whole, asked, said, answers);
    }
}

static void change_any(char **rows, char **names, size_t row_count, const struct options *options,
                       const struct folder *folder, struct changed_answers *answers)
{
    char what[CHANGED_TEXT], said[CHANGED_TEXT + 300];
    for (size_t i = 0; i < options->count; i++) {
        uint64_t seed = options->seed * 1000003 + i;
        bool asked[QUESTIONS_MOST] = {false};
        size_t at = changed_random(&seed) % row_count;
        for (size_t n = 0; n < changed_questions(); n++)
            asked[n] = n < options->always;
        for (size_t n = 0; n < QUESTIONS_SOME && options->always == 0; n++)
            asked[changed_random(&seed) % changed_questions()] = true;
        if (options->has_only && options->only != i)
            continue;
        changed_end(changed_begin(folder->whole, rows[at]), true);
        changed_any(folder->changed, rows[at], seed, what);
        snprintf(said, sizeof said, "%s -s %" PRIu64 " -o %zu: %s", names[at], options->seed, i,
                 what);
        changed_ask(folder->changed, folder->whole, asked, said, answers);
    }
}

/* The rows of the recording that a line begins with. */
static const char *rows_of(const char *line, char **rows, char **names, size_t count)
{
    size_t length = strcspn(line, ":");
    for (size_t i = 0; i < count; i++) {
        const char *slash = strrchr(names[i], '/'), *name = slash ? slash + 1 : names[i];
        if (strncmp(name, line, length) == 0 && strcmp(name + length, ".sql") == 0)
            return rows[i];
    }
    fprintf(stderr, "no such recording: %s\n", line);
    exit(99);
}

/* What was wrong once. */
static void change_known(const char *path, char **rows, char **names, size_t count,
                         const struct folder *folder, struct changed_answers *answers)
{
    bool asked[QUESTIONS_MOST] = {false};
    char *text = read_rows(path), *line = text;
    for (size_t i = 0; i < QUESTIONS_FIRST; i++)
        asked[i] = true;
    for (char *next; *line; line = next) {
        next = line + strcspn(line, "\n");
        next += *next ? (*next = '\0', 1) : 0;
        if (*line == '-' || !*line)
            continue;
        const char *sql = rows_of(line, rows, names, count);
        changed_end(changed_begin(folder->whole, sql), true);
        changed_with(folder->changed, sql, strchr(line, ':') + 1);
        changed_ask(folder->changed, folder->whole, asked, line, answers);
    }
    mem_free(text);
}

static bool read_options(int argc, char **argv, struct options *options)
{
    *options = (struct options){.every = 1, .count = 100, .seed = 1};
    for (int option; (option = getopt(argc, argv, "arme:f:n:s:o:")) != -1;) {
        unsigned long long value = strtoull(optarg ? optarg : "0", NULL, 10);
        switch (option) {
        case 'a':
            options->always = changed_questions();
            break;
        case 'r':
            options->always = QUESTIONS_FIRST;
            break;
        case 'm':
            changed_memory();
            break;
        case 'e':
            options->every = value ? value : 1;
            break;
        case 'f':
            options->from = value;
            break;
        case 'n':
            options->count = value;
            break;
        case 's':
            options->seed = value;
            break;
        case 'o':
            options->only = value;
            options->has_only = true;
            break;
        default:
            return false;
        }
    }
    return optind < argc;
}

int main(int argc, char **argv)
{
    struct options options;
    struct folder folder;
    struct changed_answers answers = {0};
    char *rows[64];
    const char *mode = argc > 2 ? argv[1] : "";
    bool any = strcmp(mode, "any") == 0, known = strcmp(mode, "known") == 0;
    if ((!any && !known && strcmp(mode, "columns") != 0) ||
        !read_options(argc - 1, argv + 1, &options)) {
        fprintf(stderr, "changed columns|any|known ...; see the top of changed.c\n");
        return 99;
    }
    char **names = argv + 1 + optind + known;
    size_t count = (size_t)(argv + argc - names);
    MUST(count <= 64 && changed_questions() <= QUESTIONS_MOST);
    for (size_t i = 0; i < count; i++)
        rows[i] = read_rows(names[i]);
    make_folder(&folder);
    if (any)
        change_any(rows, names, count, &options, &folder, &answers);
    else if (known)
        change_known(argv[2], rows, names, count, &folder, &answers);
    for (size_t i = 0; i < count; i++) {
        if (!any && !known)
            change_columns(rows[i], names[i], &options, &folder, &answers);
        mem_free(rows[i]);
    }
    if (options.has_only)
        printf("kept: %s\n", folder.path);
    else
        remove_folder(&folder);
    printf("%" PRIu64 " runs; ended with 0: %" PRIu64 ", 1: %" PRIu64 ", 2: %" PRIu64
           ", 3: %" PRIu64 ", 4: %" PRIu64 "; findings: %" PRIu64 "\n",
           answers.runs, answers.codes[0], answers.codes[1], answers.codes[2], answers.codes[3],
           answers.codes[4], answers.findings);
    return answers.findings > 0 || answers.runs == 0;
}
