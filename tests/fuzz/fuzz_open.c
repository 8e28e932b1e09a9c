/*
 * Any file as a recording: opened, and if it opens, asked by every report and every view. What
 * comes out is thrown away.
 *
 * One byte of the header that SQLite does not look at (WHAT_AT) says what is asked, 0: everything;
 * so a report that fails is found by itself, and any recording is an input as it is. A file that
 * repair has made has to be sound, and is asked, too.
 *
 * Most changes to an SQLite file make it no SQLite file. So the mutator knows what one is like: the
 * bytes by which it would be refused at once are put right again, pages are copied over each other,
 * and integers in them become others of the same width.
 */
#include <fcntl.h>
#include <unistd.h>

#include "commands.h"
#include "db.h"
#include "error.h"
#include "fuzz.h"
#include "log.h"

#define MOST_BYTES (256u << 10)
#define HEADER_BYTES 100u
#define WHAT_AT 72u         /* reserved for expansion, zero in each file that SQLite makes */
#define AFTER_REPAIR_AT 73u /* likewise: what the repaired file is asked */
#define WORDS 10

/* What "@" stands for in a command line, and "@" with an ending for a file beside it. */
#define MADE "@.made"

static const struct question {
    const char *words[WORDS]; /* of the command line, ends with NULL */
} questions[] = {
    {{"info", "@", NULL}},
    {{"info", "@", "-f", "json", NULL}},
    {{"phases", "@", NULL}},
    {{"phases", "@", "--all", "-f", "csv", NULL}},
    {{"phases", "@", "--domain", "NCCL", NULL}},
    {{"phases", "@", "--rank", "1", "--steps", "1..4", "-f", "json", NULL}},
    {{"timeline", "@", NULL}},
    {{"timeline", "@", "--plot", NULL}},
    {{"timeline", "@", "--plot", "--by", "events", "--ascii", NULL}},
    {{"timeline", "@", "--plot", "--bytes-by", "category", NULL}},
    {{"timeline", "@", "--plot", "--steps", "0..2", NULL}},
    {{"timeline", "@", "--bytes-by", "category", "-f", "csv", NULL}},
    {{"timeline", "@", "-f", "json", NULL}},
    {{"repair", "@", "-o", MADE, NULL}},
    {{"repair", "@", "--check", NULL}},
    {{"repair", "@", "--check", "-f", "json", NULL}},
    {{"peak", "@", NULL}},
    {{"peak", "@", "-f", "json", NULL}},
    {{"peak", "@", "--device", "cuda:0", "--steps", "0..3", NULL}},
    {{"why", "@", NULL}},
    {{"why", "@", "1..2", NULL}},
    {{"why", "@", "0/forward..end", "-f", "csv", NULL}},
    {{"frag", "@", NULL}},
    {{"frag", "@", "--over-time", NULL}},
    {{"frag", "@", "--oom", NULL}},
    {{"frag", "@", "end", "--order", "size", "-f", "json", NULL}},
    {{"ladder", "@", NULL}},
    {{"ladder", "@", "-f", "json", NULL}},
    {{"leaks", "@", NULL}},
    {{"modules", "@", NULL}},
    {{"show", "@", "block:1", NULL}},
    {{"show", "@", "a", "-f", "json", NULL}},
    {{"modules", "@", "end", "--depth", "1", "-f", "json", NULL}},
    {{"leaks", "@", "-k", "1", "-w", "0", NULL}},
    {{"fit", "@", "--memory", "1GiB", NULL}},
    {{"fit", "@", "--memory", "20MiB", "--settings", "expandable_segments:True", NULL}},
    {{"fit", "@", "--table", NULL}},
    {{"diff", "@", "@", NULL}},
    {{"diff", "@", "@", "--moment", "end", "--all", NULL}},
    {{"check", "@", "--max-peak", "1GiB", "--max-fragmentation", "10", "--no-oom", NULL}},
    {{"check", "@", "--no-oom", "--no-lost", "--max-reserved", "1GiB", NULL}},
    {{"check", "@", "--baseline", "@", "--max-increase", "5%", NULL}},
    {{"check", "@", "--max-growth", "1M", "--allow-unknown", "--junit", MADE, NULL}},
    {{"check", "@", "--max-growth", "1", "--steps", "1..", "-f", "csv", NULL}},
    {{"sql", "@", "SELECT * FROM allocations", NULL}},
    {{"sql", "@", "SELECT * FROM peak_by_category", NULL}},
    {{"sql", "@", "SELECT * FROM peak_by_site", NULL}},
    {{"sql", "@", "SELECT * FROM live_at_peak", NULL}},
    {{"sql", "@", "SELECT * FROM phase_table", "-f", "csv", NULL}},
    {{"sql", "@", "SELECT * FROM phase_total", NULL}},
    {{"sql", "@", "SELECT * FROM site_total", NULL}},
    {{"sql", "@", "SELECT * FROM timeline", "-f", "json", NULL}},
    {{"sql", "@", "SELECT * FROM fragmentation", NULL}},
    {{"sql", "@", "SELECT * FROM leak", NULL}},
    {{"sql", "@", "SELECT * FROM stack", NULL}},
    {{"sql", "@", "SELECT * FROM site_short", NULL}},
    {{"sql", "@", "SELECT * FROM driver_allocations", NULL}},
    {{"sql", "@", "SELECT * FROM outside_allocator", NULL}},
    {{"sql", "@", "SELECT * FROM activities", NULL}},
    {{"sql", "@", "SELECT * FROM device_text; SELECT * FROM tag_text", NULL}},
    {{"sql", "@", "SELECT * FROM frame_text; SELECT * FROM frame_short", NULL}},
    {{"sql", "@", "SELECT * FROM site_text", NULL}},
    {{"sql", "@", "SELECT * FROM phase_role; SELECT * FROM run_bounds", NULL}},
    {{"sql", "@", "SELECT * FROM step_bounds", NULL}},
    {{"sql", "@", "SELECT * FROM allocation_category", NULL}},
    {{"sql", "@", "SELECT * FROM allocation_survivor", NULL}},
    {{"sql", "@", "SELECT * FROM peak; SELECT * FROM peak_instant", NULL}},
    {{"sql", "@", "SELECT * FROM peak_block", NULL}},
    {{"sql", "@", "SELECT * FROM library_size; SELECT * FROM library_proof", NULL}},
    {{"sql", "@", "SELECT * FROM parameter_size", NULL}},
    {{"sql", "@", "SELECT * FROM sharing_site", NULL}},
    {{"sql", "@", "SELECT * FROM module_memory; SELECT * FROM module_text", NULL}},
    {{"sql", "@", "SELECT * FROM tag_module", NULL}},
    {{"sql", "@", "SELECT * FROM node; SELECT * FROM process_node", NULL}},
    {{"skew", "@", NULL}},
    {{"skew", "@", "--all", "--format", "csv", NULL}},
};
#define QUESTIONS (sizeof questions / sizeof *questions)

static bool is_view(const struct question *question)
{
    return strcmp(question->words[0], "sql") == 0;
}

static void write_file(const char *path, const uint8_t *bytes, size_t count)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    MUST(fd >= 0 && write(fd, bytes, count) == (ssize_t)count);
    close(fd);
}

static int ask(const struct question *question, const char *path)
{
    static char words[WORDS][160];
    char *argv[WORDS];
    const char *near;
    int count = 0;
    const struct command *command = command_find(question->words[0], &near);
    MUST(command);
    for (; question->words[count + 1]; count++) {
        const char *word = question->words[count + 1];
        bool file = word[0] == '@';
        snprintf(words[count], sizeof *words, "%s%s", file ? path : "", word + file);
        argv[count] = words[count];
    }
    argv[count] = NULL;
    int code = command->run(&(struct command_call){command, count, argv});
    MUST(code >= EXIT_FINE && code <= EXIT_INTERNAL); /* a table may lack a column */
    return code;
}

/* What repair wrote is sound, and every view of it can be read; a report may find that what it
 * needs was lost. */
static void ask_repaired(const char *path, unsigned which)
{
    struct db *db = NULL;
    MUST(db_open(&db, path) == 0 && db_check(db) == 0);
    db_close(db);
    for (unsigned i = 0; i < QUESTIONS; i++) {
        if (which != 0 ? (which - 1) % QUESTIONS != i : !is_view(&questions[i]))
            continue;
        int code = ask(&questions[i], path);
        MUST(code == EXIT_FINE || !is_view(&questions[i]));
    }
}

static bool is_asked(const char *view, size_t length)
{
    for (size_t i = 0; i < QUESTIONS; i++)
        for (size_t w = 0; questions[i].words[w]; w++)
            for (const char *at = questions[i].words[w]; (at = strstr(at, "FROM ")); at++)
                if (strncmp(at + 5, view, length) == 0 && strchr(";", (at + 5)[length]))
                    return true; /* and not a longer name */
    return false;
}

/* The list above has every view. */
static void check_questions(void)
{
    static const char begin[] = "\nCREATE VIEW ";
    for (const char *at = sch_text(); (at = strstr(at, begin)); at++) {
        const char *name = at + strlen(begin);
        MUST(is_asked(name, strcspn(name, "( ")));
    }
}

/* Reports print; there is nobody to read it. */
static void begin(void)
{
    static bool begun;
    if (begun)
        return;
    begun = true;
    check_questions();
    MUST(freopen("/dev/null", "w", stdout));
    MUST(setenv("TMPDIR", fuzz_folder(), 1) == 0); /* where repair works */
}

static unsigned byte_at(const uint8_t *bytes, size_t count, size_t at)
{
    return count > at ? bytes[at] : 0;
}

/* With FUZZ_OPEN_SHARE=n in the environment an input that is asked everything is asked each nth
 * question, the next input the next ones. */
static bool has_turn(unsigned question)
{
    static unsigned inputs;
    const char *text = getenv("FUZZ_OPEN_SHARE");
    unsigned share = text ? (unsigned)atoi(text) : 0;
    inputs += question == 0;
    return share < 2 || (question + inputs) % share == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    char path[128], made[160];
    if (count > MOST_BYTES)
        return 0;
    begin();
    snprintf(path, sizeof path, "%s/input.db", fuzz_folder());
    write_file(path, bytes, count);
    snprintf(made, sizeof made, "%s%s", path, &MADE[1]);
    unsigned what = byte_at(bytes, count, WHAT_AT);
    for (unsigned i = 0; i < QUESTIONS; i++) {
        if (what != 0 ? (what - 1) % QUESTIONS != i : !has_turn(i))
            continue;
        ask(&questions[i], path);
        if (access(made, F_OK) == 0 && strcmp(questions[i].words[0], "repair") == 0)
            ask_repaired(made, byte_at(bytes, count, AFTER_REPAIR_AT));
        unlink(made);
    }
    return 0;
}

/* ---- the mutator ---- */

static uint32_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

static size_t page_bytes(const uint8_t *bytes)
{
    size_t size = (size_t)bytes[16] << 8 | bytes[17];
    return size == 1 ? 65536 : size;
}

static void put_big_endian(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> (24 - 8 * i));
}

/* A fourth of what is asked is repair, which has the most to do with a damaged file. */
static unsigned some_question(uint64_t *seed)
{
    unsigned at = 0;
    if (next_random(seed) % 4)
        return next_random(seed) % QUESTIONS;
    while (strcmp(questions[at].words[0], "repair") != 0)
        at++;
    return at;
}

/* What db_open and SQLite look at first: the magic, page size, versions, count, whose it is. */
static void put_right(uint8_t *bytes, size_t count, const uint8_t *before)
{
    memcpy(bytes, before, 24);
    size_t page = page_bytes(bytes);
    if (page)
        put_big_endian(bytes + 28, (uint32_t)(count / page));
    memcpy(bytes + 56, before + 56, 16);
    memcpy(bytes + 92, bytes + 24, 4); /* the count is valid for this change counter */
}

static void copy_within(uint8_t *bytes, size_t count, uint64_t *seed)
{
    size_t page = page_bytes(bytes), pages = page ? count / page : 0;
    if (pages < 2)
        return;
    size_t from = next_random(seed) % pages, to = 1 + next_random(seed) % (pages - 1);
    size_t at = next_random(seed) % page, n = 1 + next_random(seed) % (page - at);
    memmove(bytes + to * page + at, bytes + from * page + at, n);
}

/* Cells begin at the end of a page: numbers of rows are there, as they are in the file. */
static void change_number(uint8_t *bytes, size_t count, uint64_t *seed)
{
    static const uint8_t odd[] = {0, 1, 0x7f, 0x80, 0xff, 2, 0x40};
    size_t width = 1 + next_random(seed) % 8;
    size_t at = HEADER_BYTES + next_random(seed) % (count - HEADER_BYTES);
    uint8_t value = odd[next_random(seed) % sizeof odd];
    for (size_t i = 0; i < width && at + i < count; i++)
        bytes[at + i] = next_random(seed) % 4 ? value : (uint8_t)next_random(seed);
}

static void change_page(uint8_t *bytes, size_t count, uint64_t *seed)
{
    size_t page = page_bytes(bytes), pages = page ? count / page : 0;
    if (pages < 2)
        return;
    uint8_t *at = bytes + page * (1 + next_random(seed) % (pages - 1));
    LLVMFuzzerMutate(at, page, page);
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t count, size_t most, unsigned seed)
{
    uint64_t random = seed;
    uint8_t before[HEADER_BYTES];
    if (count <= HEADER_BYTES)
        return LLVMFuzzerMutate(bytes, count, most);
    memcpy(before, bytes, sizeof before);
    for (uint32_t i = 1 + next_random(&random) % 4; i > 0; i--) {
        switch (next_random(&random) % 8) {
        case 0:
            copy_within(bytes, count, &random);
            break;
        case 1:
        case 2:
            change_page(bytes, count, &random);
            break;
        case 3:
            count = LLVMFuzzerMutate(bytes, count, most);
            break;
        default:
            change_number(bytes, count, &random);
        }
        if (count <= HEADER_BYTES)
            return count;
    }
    if (next_random(&random) % 16)
        put_right(bytes, count, before);
    bytes[WHAT_AT] = (uint8_t)(1 + some_question(&random)); /* one: all of them take seconds */
    bytes[AFTER_REPAIR_AT] = (uint8_t)(1 + next_random(&random) % QUESTIONS);
    return count;
}
