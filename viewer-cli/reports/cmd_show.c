/*
 * tidemark show: everything that is known of one block, or of one call site.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "human.h"
#include "mem.h"
#include "module_index.h"
#include "query.h"
#include "report.h"

struct show_options {
    struct report_options common;
    int64_t top;
};

enum show_kind { SHOW_BLOCK, SHOW_SITE, SHOW_TEXT };

struct wanted {
    enum show_kind kind;
    int64_t number;
    const char *text; /* as it was written */
};

/* ---- sections of plain rows ---- */

static int put_rows(struct report *report, const char *key, const char *title,
                    enum emit_style style, const struct emit_column *columns, size_t count,
                    const char *sql, const struct query_value *in)
{
    bool open = report->emit.format != EMIT_TABLE;
    if (open)
        emit_section(&report->emit, key, title, style, columns, count);
    struct query query = query_ask(report->db, sql, in, Q_OUT(Q_REST));
    while (query_next(&query)) {
        if (!open)
            emit_section(&report->emit, key, title, style, columns, count);
        open = true;
        report_cells(&report->emit, query.stmt, 0, (int)count);
    }
    return query_end(&query);
}
#define PUT_ROWS(report, key, title, style, columns, sql, in)                                      \
    put_rows(report, key, title, style, columns, sizeof(columns) / sizeof *(columns), sql, in)

static const struct emit_column stack_columns[] = {
    {"depth", "#", EMIT_PLAIN, 0},
    {"function", NULL, EMIT_TEXT, 0},
    {"file", NULL, EMIT_TEXT, EMIT_NONE | EMIT_NAME},
    {"line", NULL, EMIT_PLAIN, EMIT_NONE},
};

static const char stack_sql[] =
    "SELECT s.depth, n.text, p.text, f.line FROM site s JOIN frame f ON f.id = s.frame"
    "  LEFT JOIN string n ON n.id = f.function LEFT JOIN string p ON p.id = f.file"
    " WHERE s.site = ?1 ORDER BY s.depth";

static int put_stack(struct report *report, int64_t site)
{
    return PUT_ROWS(report, "stack", "Call stack, innermost first", EMIT_ROWS, stack_columns,
                    stack_sql, Q_IN(site));
}

/* ---- a block ---- */

static const struct emit_column block_columns[] = {
    {"allocation", "block", EMIT_PLAIN, 0},
    {"process", NULL, EMIT_PLAIN, 0},
    {"device", NULL, EMIT_TEXT, 0},
    {"size", NULL, EMIT_BYTES, 0},
    {"requested", NULL, EMIT_BYTES, EMIT_IF_KNOWN},
    {"address", NULL, EMIT_TEXT, 0},
    {"stream", NULL, EMIT_PLAIN, EMIT_IF_KNOWN},
    {"pool", NULL, EMIT_PLAIN, EMIT_IF_KNOWN},
    {"segment", NULL, EMIT_PLAIN, EMIT_IF_KNOWN},
    {"category", "kind", EMIT_TEXT, 0},
    {"rule", "rule", EMIT_TEXT, EMIT_IF_KNOWN},
    {"tag", NULL, EMIT_TEXT, EMIT_IF_KNOWN},
    {"module", NULL, EMIT_TEXT, EMIT_IF_KNOWN},
    {"class", "class", EMIT_TEXT, EMIT_IF_KNOWN},
    {"alloc_ns", "allocated at", EMIT_NS, 0},
    {"step", "in step", EMIT_PLAIN, EMIT_IF_KNOWN},
    {"phase", "in phase", EMIT_TEXT, EMIT_IF_KNOWN},
    {"free_ns", "freed at", EMIT_NS, EMIT_IF_KNOWN},
    {"free_seq", "freed by event", EMIT_PLAIN, EMIT_IF_KNOWN},
    {"freed_step", "freed in step", EMIT_PLAIN, EMIT_IF_KNOWN},
    {"freed_phase", "freed in phase", EMIT_TEXT, EMIT_IF_KNOWN},
    {"life_ns", "live for", EMIT_NS, EMIT_IF_KNOWN},
    {"site_id", "call site id", EMIT_PLAIN, EMIT_IF_KNOWN},
    {"site", "call site", EMIT_TEXT, EMIT_IF_KNOWN},
};

static const char block_sql[] =
    "SELECT v.allocation, v.process, v.device, v.size, v.requested, printf('0x%x', v.address),"
    "  v.stream, v.pool, v.segment, c.category, c.rule, v.tag, v.module, m.class, v.alloc_ns,"
    "  v.step, v.phase, v.free_ns, v.free_seq, v.freed_step, v.freed_phase, v.life_ns, v.site_id,"
    "  (SELECT s.text FROM site_short s WHERE s.site = v.site_id)"
    "  FROM allocations v LEFT JOIN allocation_category c ON c.allocation = v.allocation"
    "  LEFT JOIN module m ON m.id = v.module_id WHERE v.allocation = ?1";

static int put_block(struct report *report, int64_t block)
{
    int64_t site = QUERY_NONE;
    int err = query_first(report->db, "SELECT site FROM allocation WHERE seq = ?1", Q_IN(block),
                          Q_OUT(Q_OPT(site)));
    if (err == DB_DONE)
        report_absent(report, "there is no block %" PRId64 " in this recording", block);
    if (err != DB_ROW)
        return err < 0 ? err : 0;
    err = PUT_ROWS(report, "block", NULL, EMIT_RECORD, block_columns, block_sql, Q_IN(block));
    return err == 0 && site != QUERY_NONE ? put_stack(report, site) : err;
}

/* ---- a call site ---- */

static const struct emit_column site_columns[] = {
    {"site_id", "call site id", EMIT_PLAIN, 0},
    {"site", "call site", EMIT_TEXT, EMIT_NONE},
    {"processes", NULL, EMIT_COUNT, 0},
    {"blocks", NULL, EMIT_COUNT, 0},
    {"bytes", "bytes of all", EMIT_BYTES, 0},
    {"smallest", NULL, EMIT_BYTES, 0},
    {"largest", NULL, EMIT_BYTES, 0},
    {"living_blocks", "blocks live at the end", EMIT_COUNT, 0},
    {"living_bytes", "bytes live at the end", EMIT_BYTES, 0},
    {"first_ns", "first allocated", EMIT_NS, 0},
    {"last_ns", "last allocated", EMIT_NS, 0},
    {"shortest_ns", "shortest life", EMIT_NS, EMIT_IF_KNOWN},
    {"longest_ns", "longest life", EMIT_NS, EMIT_IF_KNOWN},
    {"largest_block", "largest block", EMIT_PLAIN, 0},
    {"category", "kind of largest block", EMIT_TEXT, 0},
    {"tag", "tag", EMIT_TEXT, EMIT_IF_KNOWN},
};

static const char site_sql[] =
    "WITH mine AS (SELECT a.*, h.process FROM allocation a JOIN heap h ON h.id = a.heap"
    "               WHERE a.site = ?1),"
    " largest(seq, tag) AS (SELECT seq, tag FROM mine ORDER BY size DESC, seq LIMIT 1)"
    "SELECT ?1, (SELECT s.text FROM site_short s WHERE s.site = ?1), count(DISTINCT process),"
    "  count(*), sum(size), min(size), max(size), sum(free_seq < 0),"
    "  sum(CASE WHEN free_seq < 0 THEN size ELSE 0 END), min(alloc_ns), max(alloc_ns),"
    "  min(CASE WHEN free_seq >= 0 THEN life_ns END), max(CASE WHEN free_seq >= 0 THEN life_ns "
    "END),"
    "  (SELECT seq FROM largest),"
    "  (SELECT c.category FROM allocation_category c"
    "    WHERE c.allocation = (SELECT seq FROM largest)),"
    "  (SELECT t.name FROM tag t WHERE t.id = (SELECT tag FROM largest))"
    "  FROM mine HAVING count(*) > 0";

static const struct emit_column size_columns[] = {
    {"size", NULL, EMIT_BYTES, 0},
    {"blocks", NULL, EMIT_COUNT, 0},
    {"bytes", "all", EMIT_BYTES, 0},
};

static const char size_sql[] = "SELECT size, count(*), size * count(*) FROM allocation"
                               " WHERE site = ?1 GROUP BY size ORDER BY 3 DESC, 1 DESC LIMIT ?2";

static const struct emit_column phase_columns[] = {
    {"phase", NULL, EMIT_TEXT, EMIT_NONE},
    {"blocks", NULL, EMIT_COUNT, 0},
    {"bytes", "all", EMIT_BYTES, 0},
};

static const char phase_sql[] =
    "SELECT ph.name, count(*), sum(a.size) FROM allocation a JOIN heap h ON h.id = a.heap"
    "  LEFT JOIN phase ph ON ph.id = coalesce("
    "    (SELECT ap.phase FROM allocation_phase ap WHERE ap.allocation = a.seq),"
    "    (SELECT st.phase FROM stretch st WHERE st.process = h.process AND st.begin_seq <= a.seq"
    "      ORDER BY st.begin_seq DESC LIMIT 1))"
    " WHERE a.site = ?1 GROUP BY ph.name ORDER BY 3 DESC, 1 LIMIT ?2";

static const struct emit_column module_columns[] = {
    {"module", NULL, EMIT_TEXT, 0},
    {"class", NULL, EMIT_TEXT, 0},
    {"blocks", NULL, EMIT_COUNT, 0},
    {"bytes", "all", EMIT_BYTES, 0},
};

struct share { /* of modules with one folded name */
    const struct module_entry *entry;
    int64_t blocks, bytes;
};

static int by_bytes(const void *a, const void *b)
{
    const struct share *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return strcmp(x->entry->folded, y->entry->folded);
}

static int read_shares(struct report *report, const struct module_index *index, int64_t site,
                       struct share *shares, size_t *count)
{
    int64_t id, blocks, bytes;
    struct query query = query_ask(report->db,
                                   "SELECT module_id AS id, count(*) AS blocks, sum(size) AS bytes"
                                   "  FROM allocations WHERE site_id = ?1 AND module_id IS NOT NULL"
                                   " GROUP BY module_id",
                                   Q_IN(site), Q_OUT(Q_INT(id), Q_INT(blocks), Q_INT(bytes)));
    while (query_next(&query)) {
        const struct module_entry *entry = module_index_at(index, id);
        size_t at = 0;
        while (entry && at < *count && !module_entries_fold(shares[at].entry, entry))
            at++;
        if (!entry)
            continue;
        if (at == *count)
            shares[(*count)++] = (struct share){.entry = entry};
        shares[at].blocks += blocks;
        shares[at].bytes += bytes;
    }
    return query_end(&query);
}

static void put_shares(struct report *report, const struct share *shares, size_t count, int64_t top)
{
    if (!count && report->emit.format == EMIT_TABLE)
        return;
    EMIT_SECTION(&report->emit, "modules", "Modules", EMIT_ROWS, module_columns);
    for (size_t i = 0; i < count && (int64_t)i < top; i++) {
        emit_text(&report->emit, module_entry_text(shares[i].entry));
        emit_text(&report->emit, shares[i].entry->class_name);
        emit_int(&report->emit, shares[i].blocks);
        emit_int(&report->emit, shares[i].bytes);
    }
}

static int put_modules(struct report *report, int64_t site, int64_t top)
{
    struct module_index index;
    size_t count = 0;
    int err = module_index_read(report->db, &index);
    struct share *shares = mem_alloc(index.count + 1, sizeof *shares);
    if (err == 0)
        err = shares ? read_shares(report, &index, site, shares, &count) : ERR_NOMEM;
    if (err == 0) {
        qsort(shares, count, sizeof *shares, by_bytes);
        put_shares(report, shares, count, top);
    }
    mem_free(shares);
    module_index_clear(&index);
    return err;
}

static int put_site(struct report *report, int64_t site, int64_t top)
{
    int64_t blocks = 0;
    int err = query_read(report->db, "SELECT count(*) AS blocks FROM allocation WHERE site = ?1",
                         Q_IN(site), Q_OUT(Q_INT(blocks)));
    if (err == 0 && !blocks) {
        report_absent(report, "no block of this recording has call site %" PRId64, site);
        return 0;
    }
    if (err == 0)
        err = PUT_ROWS(report, "site", NULL, EMIT_RECORD, site_columns, site_sql, Q_IN(site));
    if (err == 0)
        err =
            PUT_ROWS(report, "sizes", "Sizes", EMIT_ROWS, size_columns, size_sql, Q_IN(site, top));
    if (err == 0)
        err = PUT_ROWS(report, "phases", "Phases", EMIT_ROWS, phase_columns, phase_sql,
                       Q_IN(site, top));
    if (err == 0)
        err = put_modules(report, site, top);
    return err == 0 ? put_stack(report, site) : err;
}

/* ---- a text ---- */

/* The sites with such a frame, the one with most bytes first. */
static const char text_sql[] =
    "SELECT a.site AS site, sum(a.size) AS bytes, count(*) OVER () AS matching FROM allocation a"
    " WHERE a.site IN (SELECT s.site FROM site s JOIN frame_text t ON t.id = s.frame"
    "                   WHERE instr(t.text, ?1) > 0)"
    " GROUP BY a.site ORDER BY 2 DESC, 1 LIMIT ?2";

static const struct emit_column other_columns[] = {
    {"site_id", "call site id", EMIT_PLAIN, 0},
    {"bytes", "all", EMIT_BYTES, 0},
    {"site", "call site", EMIT_TEXT, EMIT_NAME},
};

static const char others_sql[] =
    "SELECT a.site, sum(a.size), (SELECT s.text FROM site_short s WHERE s.site = a.site)"
    "  FROM allocation a"
    " WHERE a.site IN (SELECT s.site FROM site s JOIN frame_text t ON t.id = s.frame"
    "                   WHERE instr(t.text, ?1) > 0) AND a.site <> ?2"
    " GROUP BY a.site ORDER BY 2 DESC, 1 LIMIT ?3";

static int put_text(struct report *report, const char *text, int64_t top)
{
    int64_t site = 0, matching = 0;
    int err = query_first(report->db, text_sql, Q_IN(text, (int64_t)1),
                          Q_OUT(Q_INT(site), Q_INT(matching), Q_REST));
    if (err == DB_DONE)
        report_absent(report, "no call stack of this recording has '%s' in it", text);
    if (err != DB_ROW)
        return err < 0 ? err : 0;
    err = put_site(report, site, top);
    if (err == 0 && matching > 1)
        err = PUT_ROWS(report, "others", "Other call sites with it in their stacks", EMIT_ROWS,
                       other_columns, others_sql, Q_IN(text, site, top));
    return err;
}

/* ---- the command ---- */

static bool number_behind(const char *text, const char *word, int64_t *number)
{
    size_t bytes = strlen(word);
    char *end;
    if (strncmp(text, word, bytes) != 0 || text[bytes] < '0' || text[bytes] > '9')
        return false;
    *number = strtoll(text + bytes, &end, 10);
    return *end == '\0';
}

static struct wanted what_is_wanted(const char *text)
{
    struct wanted wanted = {SHOW_TEXT, 0, text};
    if (number_behind(text, "block:", &wanted.number))
        wanted.kind = SHOW_BLOCK;
    else if (number_behind(text, "site:", &wanted.number))
        wanted.kind = SHOW_SITE;
    return wanted;
}

static int put(struct report *report, struct wanted wanted, int64_t top)
{
    switch (wanted.kind) {
    case SHOW_BLOCK:
        return put_block(report, wanted.number);
    case SHOW_SITE:
        return put_site(report, wanted.number, top);
    case SHOW_TEXT:
        break;
    }
    return put_text(report, wanted.text, top);
}

static int run(const struct command_call *call, const struct show_options *options,
               char **arguments, int count)
{
    struct report report;
    struct wanted wanted = what_is_wanted(arguments[count - 1]);
    if (!*wanted.text)
        return command_misused(call->command, "needs block:N, site:N or a part of a frame");
    int code =
        report_begin(&report, call->command, &options->common, count > 1 ? arguments[0] : NULL);
    return code ? code : report_end(&report, put(&report, wanted, options->top));
}

static int cmd_show(const struct command_call *call)
{
    struct show_options options = {.common = REPORT_OPTIONS, .top = 5};
    char **arguments;
    int count, code;
    if (!command_parse(call, &options, &arguments, &count, &code))
        return code;
    code = run(call, &options, arguments, count);
    mem_free(arguments);
    return code;
}

static const struct option option_table[] = {
    {"top", 'n', OPT_INT, offsetof(struct show_options, top), "N",
     "N sizes, phases, modules and other call sites (5)", NULL, 1},
    REPORT_OPTION_FORMAT,
    REPORT_OPTION_NO_COLOR,
    {0},
};

const struct command command_show = {
    .name = "show",
    .group = COMMAND_LOOK,
    .run = cmd_show,
    .summary = "everything that is known of one block, or of one call site",
    .arguments = "[DATABASE] SITE|BLOCK",
    .options = option_table,
    .least = 1,
    .most = 2,
    .description =
        "'block:N' is a block by its number, the number of the event that allocated it: column "
        "'allocation' of what reports print for programs. 'site:N' is a call site by its number, "
        "column 'site_id'. Anything else is a part of a frame, such as train.py:12 or "
        "Block.forward: of the call sites with it in their stacks, the one whose blocks come to "
        "most.\n"
        "\n"
        "Of a block: its size, its place, what it was for and how that is known, its tag, its "
        "module, its life, the whole call stack. Of a call site: how many blocks, their sizes, "
        "phases, modules and times, and the whole call stack.",
    .examples =
        {
            {"tidemark show run.db softmax", "the call site with such a frame and the most bytes"},
            {"tidemark show run.db site:7", "a call site by its number"},
            {"tidemark show run.db block:4711 -f json", "a block, for a program"},
        },
};
