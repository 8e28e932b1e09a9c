/*
 * Logs of RMM's logging_resource_adaptor: lines of text, each an allocation, a free or a refusal.
 *
 *     Thread,Time,Action,Pointer,Size,Stream
 *     1979932,14:21:19.998533,allocate,0x30a000000,256,2
 *
 * Time is of the day alone: it begins anew at midnight. Lines are in the order in which things
 * happened, even where their times are not, for these are taken before the log's lock. A log is of
 * one device, whose number is in the file's name alone (".dev0").
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "format.h"
#include "rmm.h"

#define LINE_MOST ((size_t)512)
#define FIELDS 6
#define HOUR_NS INT64_C(3600000000000)

#define HEADER "Thread,Time,Action,Pointer,Size,Stream"
static const char header[] = HEADER;

struct rmm {
    struct block_log *log;
    struct pickle_input *input;
    struct import_result *result;
    int32_t device;
    int64_t now_ns, day_ns;
    uint64_t line; /* number of the line being read */
};

/* ---- fields ---- */

/* A whole field in this base; "0x" may stand in front of a hexadecimal one. */
static bool number_of(const char *text, int base, uint64_t *number)
{
    char *end;
    const char *digits = base == 16 && strncmp(text, "0x", 2) == 0 ? text + 2 : text;
    if (!*digits ||
        strspn(digits, base == 16 ? "0123456789abcdefABCDEF" : "0123456789") != strlen(digits))
        return false;
    *number = strtoull(digits, &end, base);
    return !*end && strlen(digits) <= (base == 16 ? 16 : 19);
}

static bool digits_of(const char *text, size_t count, int64_t most, int64_t *number)
{
    *number = 0;
    for (size_t i = 0; i < count; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        *number = *number * 10 + (text[i] - '0');
    }
    return *number <= most;
}

/* HH:MM:SS.ffffff; a colon before the microseconds is read, too. */
static bool time_of(const char *text, int64_t *ns)
{
    int64_t hours, minutes, seconds, fraction;
    if (strlen(text) != 15 || text[2] != ':' || text[5] != ':' || !strchr(".:", text[8]))
        return false;
    if (!digits_of(text, 2, 23, &hours) || !digits_of(text + 3, 2, 59, &minutes) ||
        !digits_of(text + 6, 2, 60, &seconds) || !digits_of(text + 9, 6, 999999, &fraction))
        return false;
    *ns = (((hours * 60 + minutes) * 60 + seconds) * 1000000 + fraction) * 1000;
    return true;
}

/* Never backwards; more than half a day back is the next day. */
static void take_time(struct rmm *rmm, int64_t ns)
{
    if (ns + rmm->day_ns + 12 * HOUR_NS < rmm->now_ns)
        rmm->day_ns += 24 * HOUR_NS;
    if (ns + rmm->day_ns > rmm->now_ns)
        rmm->now_ns = ns + rmm->day_ns;
}

static bool kind_of(const char *action, enum block_log_kind *kind)
{
    static const struct {
        const char *text;
        enum block_log_kind kind;
    } actions[] = {{"allocate", LOG_ALLOC}, {"free", LOG_FREE}, {"allocate failure", LOG_REFUSED}};
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (strcmp(action, actions[i].text) == 0) {
            *kind = actions[i].kind;
            return true;
        }
    return false;
}

/* ---- lines ---- */

static int wrong(struct rmm *rmm, const char *what)
{
    snprintf(rmm->result->message, sizeof rmm->result->message, "line %" PRIu64 ": %s", rmm->line,
             what);
    return ERR_CORRUPT;
}

static size_t split(char *line, char *fields[FIELDS])
{
    size_t count = 0;
    for (char *at = line; at; count++) {
        char *comma = strchr(at, ',');
        if (count < FIELDS)
            fields[count] = at;
        if (comma)
            *comma = '\0';
        at = comma ? comma + 1 : NULL;
    }
    return count;
}

static int add(struct rmm *rmm, char *fields[FIELDS], enum block_log_kind kind)
{
    struct block_log_entry entry = {.kind = kind & 0xf,
                                    .allocated = BLOCK_LOG_UNKNOWN,
                                    .reserved = BLOCK_LOG_UNKNOWN,
                                    .time_ns = rmm->now_ns};
    uint64_t thread, stream;
    uint32_t place;
    bool null = strcmp(fields[3], "(nil)") == 0;
    if (!number_of(fields[0], 10, &thread))
        return wrong(rmm, "its thread is no number");
    if (!null && !number_of(fields[3], 16, &entry.addr))
        return wrong(rmm, "its pointer is none");
    if (!number_of(fields[4], 10, &entry.size))
        return wrong(rmm, "its size is no number");
    if (!number_of(fields[5], 16, &stream))
        return wrong(rmm, "its stream is no hexadecimal number");
    int err = block_log_place(rmm->log, DEVICE_CUDA, rmm->device, stream, &place);
    entry.place = place;
    entry.thread = thread & 0xffffff;
    return err ? err : block_log_add(rmm->log, &entry);
}

static int take_line(struct rmm *rmm, char *line)
{
    char *fields[FIELDS];
    enum block_log_kind kind;
    int64_t ns;
    if (!*line)
        return BASE_OK;
    if (split(line, fields) != FIELDS)
        return wrong(rmm, "it has not six fields");
    if (!time_of(fields[1], &ns))
        return wrong(rmm, "its time is not HH:MM:SS.ffffff");
    take_time(rmm, ns);
    if (!kind_of(fields[2], &kind)) {
        rmm->result->unknown_actions++;
        return BASE_OK;
    }
    return add(rmm, fields, kind);
}

/* The next line without its end; NULL: there is none. *whole: its end was there. */
static char *next_line(struct rmm *rmm, char room[LINE_MOST], bool *whole, int *err)
{
    size_t count;
    const unsigned char *at = input_look(rmm->input, LINE_MOST, &count);
    const unsigned char *end = count ? memchr(at, '\n', count) : NULL;
    if (!count)
        return NULL;
    rmm->line++;
    size_t length = end ? (size_t)(end - at) : count;
    if (length == LINE_MOST) {
        *err = wrong(rmm, "it is longer than a line of such a log");
        return NULL;
    }
    *whole = end != NULL;
    memcpy(room, at, length);
    while (length && room[length - 1] == '\r')
        length--;
    room[length] = '\0';
    if (strlen(room) != length)
        *err = wrong(rmm, "it is no text");
    input_skip(rmm->input, end ? (size_t)(end - at) + 1 : count);
    return *err ? NULL : room;
}

static int take_lines(struct rmm *rmm)
{
    char room[LINE_MOST], *line;
    bool whole;
    int err = BASE_OK;
    next_line(rmm, room, &whole, &err); /* the header, which is_rmm saw */
    while (err == BASE_OK && (line = next_line(rmm, room, &whole, &err))) {
        block_log_allow(rmm->log, input_offset(rmm->input));
        err = take_line(rmm, line);
        if (err == ERR_CORRUPT && !whole) {
            rmm->result->cut_lines++;
            rmm->result->message[0] = '\0';
            return BASE_OK;
        }
    }
    if (err == BASE_OK && rmm->input->error)
        return import_say(rmm->result, input_failure(rmm->input), input_trouble(rmm->input));
    return err;
}

int rmm_read(struct pickle_input *input, int32_t device, struct block_log *log,
             struct import_result *result)
{
    struct rmm rmm = {.log = log, .input = input, .result = result, .device = device};
    int err = take_lines(&rmm);
    result->bytes_read = input_offset(input);
    result->records_bytes = log->budget.most;
    if (err == ERR_LIMIT && !*result->message)
        import_say(result, err, "it has too many streams, or takes too much memory");
    return err;
}

/* ---- the whole ---- */

/* The number between ".dev" and the next full stop, or the name's end. */
static int32_t device_of(const char *source)
{
    const char *at = strstr(source, ".dev");
    int64_t number;
    size_t digits = at ? strspn(at + 4, "0123456789") : 0;
    if (!digits || digits > 3 || (at[4 + digits] && at[4 + digits] != '.') ||
        !digits_of(at + 4, digits, 999, &number))
        return 0;
    return (int32_t)number;
}

static int read_rmm(struct pickle_input *input, const struct import_options *options,
                    struct import_result *result)
{
    struct block_log log = {0};
    struct block_log_feed feed = {.log = &log,
                                  .live = "RMM log",
                                  .allocator = "rmm",
                                  .source = options->source,
                                  .sizes = BLOCK_LOG_REQUESTED,
                                  .result = result};
    int err = rmm_read(input, device_of(options->source), &log, result);
    if (err == BASE_OK)
        err = block_log_write(&feed, 1, options->output, 0, "the log ends");
    block_log_clear(&log);
    if (err && !*result->message)
        import_say(result, err, base_err_text(err));
    return err;
}

static bool is_rmm(const unsigned char *first, size_t count)
{
    size_t n = sizeof header - 1;
    return count >= n && memcmp(first, header, n) == 0 &&
           (count == n || first[n] == '\n' || first[n] == '\r');
}

/* Without the header, the first of its lines. */
static bool is_record(const unsigned char *first, size_t count)
{
    char line[LINE_MOST], *fields[FIELDS];
    const unsigned char *end = memchr(first, '\n', count);
    size_t length = end ? (size_t)(end - first) : count;
    enum block_log_kind kind;
    int64_t ns;
    if (length >= sizeof line)
        return false;
    memcpy(line, first, length);
    line[length] = '\0';
    return split(line, fields) == FIELDS && time_of(fields[1], &ns) && kind_of(fields[2], &kind);
}

static const char *near_rmm(const unsigned char *first, size_t count)
{
    static const char begin[] = "Thread,Time,";
    if (is_record(first, count))
        return "the file has lines of an RMM log, but not its first one: put this line above "
               "them: " HEADER;
    if (memmem(first, count, header, sizeof header - 1))
        return "the file has the first line of an RMM log, but something stands before or behind "
               "it: the file is to begin with this line alone: " HEADER;
    if (count >= sizeof begin - 1 && memcmp(first, begin, sizeof begin - 1) == 0)
        return "the file begins nearly as an RMM log, whose first line is: " HEADER;
    return NULL;
}

const struct import_format format_rmm = {
    "an RMM log", "call sites, steps, phases or reserved memory", is_rmm,
    read_rmm,     "an RMM log has the first line " HEADER,        near_rmm};
