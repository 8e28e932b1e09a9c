#include "leak_holder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "mem.h"
#include "query.h"
#include "search.h"

static const char *const kinds[] = {
    "unknown", "variable",  "attribute", "list",    "dict",      "set",
    "deque",   "lru_cache", "bounded",   "trimmed", "optimizer", "graph",
};

const char *holder_kind_text(enum holder_kind kind)
{
    return kinds[kind];
}

/* ---- the marks ---- */

static const char marks_sql[] =
    "SELECT seq, value AS address, name FROM mark WHERE process = ?1 AND name >= 'held by|'"
    " AND name < 'held by}' AND domain IS NULL ORDER BY value, seq";

/* The last mark of a look: 1 if it saw all. */
static const char looked_sql[] =
    "SELECT count(*) AS looks, coalesce(max(value), 0) AS whole FROM mark"
    " WHERE process = ?1 AND name = 'held by|'";

static int read_look(struct db *db, int64_t process, enum holder_look *out)
{
    int64_t looks = 0, whole = 0;
    int err = query_read(db, looked_sql, Q_IN(process), Q_OUT(Q_INT(looks), Q_INT(whole)));
    *out = !looks ? HOLDER_LOOK_NONE : whole ? HOLDER_LOOK_ALL : HOLDER_LOOK_CUT;
    return err;
}

static enum holder_kind kind_of(const char *text, size_t bytes)
{
    for (size_t i = 1; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i]) == bytes && memcmp(kinds[i], text, bytes) == 0)
            return (enum holder_kind)i;
    return HOLDER_UNKNOWN;
}

static bool skip(const char **text, const char *word)
{
    bool found = strncmp(*text, word, strlen(word)) == 0;
    *text += found ? strlen(word) : 0;
    return found;
}

/* "held by|KIND@LINE|PATH|NODES", or without "@LINE", or with "carried " and "tuple " before
 * the kind; the path may hold anything. */
static bool parse(const char *name, struct leak_holder *out)
{
    const char *kind = strchr(name, '|') + 1, *path = strchr(kind, '|');
    const char *nodes = strrchr(kind, '|');
    if (!path || nodes <= path)
        return false;
    const char *line = memchr(kind, '@', (size_t)(path - kind));
    out->carried = skip(&kind, "carried ");
    out->several = skip(&kind, "tuple ");
    out->kind = kind_of(kind, (size_t)((line ? line : path) - kind));
    if (line)
        snprintf(out->line, sizeof out->line, "%.*s", (int)(path - line - 1), line + 1);
    long long count = strtoll(nodes + 1, NULL, 10);
    out->freed = count < 0;
    out->nodes = count < 0 ? -count : count;
    snprintf(out->path, sizeof out->path, "%.*s", (int)(nodes - path - 1), path + 1);
    return out->kind != HOLDER_UNKNOWN;
}

static int take(struct leak_holders *holders, const struct leak_holder *row, const char *name)
{
    struct leak_holder holder = *row;
    if (!parse(name, &holder))
        return 0;
    if (!MEM_GROW(holders->holders, holders->cap, holders->count + 1))
        return ERR_NOMEM;
    holders->holders[holders->count++] = holder;
    return 0;
}

int leak_holders_read(struct db *db, int64_t process, struct leak_holders *out)
{
    struct leak_holder row = {0};
    const char *name = NULL;
    *out = (struct leak_holders){0};
    struct query query = query_ask(db, marks_sql, Q_IN(process),
                                   Q_OUT(Q_INT(row.seq), Q_INT(row.address), Q_TEXT(name)));
    while (query_next(&query))
        query_fail(&query, take(out, &row, name));
    int err = query_end(&query);
    return err < 0 ? err : read_look(db, process, &out->looked);
}

void leak_holders_clear(struct leak_holders *holders)
{
    mem_free(holders->holders);
    *holders = (struct leak_holders){0};
}

static bool is_collection(const struct leak_holder *holder)
{
    return holder->kind > HOLDER_ATTRIBUTE;
}

const struct leak_holder *leak_holders_find(const struct leak_holders *holders, int64_t address,
                                            int64_t size)
{
    const struct leak_holder *best = NULL;
    size_t at;
    SEARCH_FIRST(at, 0, holders->count, holders->holders[at].address < address);
    for (; at < holders->count && holders->holders[at].address - address < size; at++)
        if (!best || !is_collection(best))
            best = &holders->holders[at];
    return best;
}

void leak_holders_weigh(struct leak_holders *holders, int64_t address, int64_t size,
                        int64_t free_seq, int64_t asked, enum holder_born born)
{
    size_t at;
    SEARCH_FIRST(at, 0, holders->count, holders->holders[at].address < address);
    for (; at < holders->count && holders->holders[at].address - address < size; at++)
        if (holders->holders[at].seq < free_seq) {
            holders->holders[at].bytes = asked;
            holders->holders[at].born = born;
        }
}

/* Which graphs may hold the blocks. */
struct graphs {
    enum holder_born not_born; /* where those of the blocks cannot have been born */
    bool freed;                /* also those of which a backward freed what it could */
};

static bool has_graph(const struct leak_holder *holder, struct graphs which)
{
    return holder->nodes > 0 && (which.freed || !holder->freed) &&
           (holder->born == HOLDER_BORN_UNKNOWN || holder->born != which.not_born);
}

/* How many of its elements have a graph. */
static int64_t elements(const struct leak_holders *holders, const struct leak_holder *holder,
                        struct graphs which)
{
    int64_t count = 0;
    for (size_t i = 0; i < holders->count; i++)
        count += has_graph(&holders->holders[i], which) &&
                 holders->holders[i].kind == holder->kind &&
                 strcmp(holders->holders[i].path, holder->path) == 0;
    return count;
}

/* NULL: none has so many. */
static const struct leak_holder *collection_of_graphs(const struct leak_holders *holders,
                                                      int64_t least, struct graphs which)
{
    for (size_t i = 0; i < holders->count; i++)
        if (is_collection(&holders->holders[i]) && has_graph(&holders->holders[i], which) &&
            elements(holders, &holders->holders[i], which) >= least)
            return &holders->holders[i];
    return NULL;
}

/* What a step takes over from the one before; the shorter one; of names of one tensor the
 * attribute. */
static bool is_rather(const struct leak_holder *a, const struct leak_holder *b)
{
    if (a->carried != b->carried)
        return a->carried;
    if (a->nodes != b->nodes)
        return a->nodes < b->nodes;
    if (a->address == b->address && a->kind != b->kind)
        return a->kind == HOLDER_ATTRIBUTE;
    return a->seq < b->seq;
}

static const struct leak_holder *variable_with_graph(const struct leak_holders *holders,
                                                     int64_t least, struct graphs which)
{
    const struct leak_holder *first = NULL;
    for (size_t i = 0; i < holders->count; i++) {
        const struct leak_holder *holder = &holders->holders[i];
        if (holder->nodes >= least && !is_collection(holder) && has_graph(holder, which) &&
            (!first || is_rather(holder, first)))
            first = holder;
    }
    return first;
}

static int64_t longest(const struct leak_holders *holders, bool in_collections, struct graphs which)
{
    int64_t nodes = 0;
    for (size_t i = 0; i < holders->count; i++)
        if (is_collection(&holders->holders[i]) == in_collections &&
            has_graph(&holders->holders[i], which) && holders->holders[i].nodes > nodes)
            nodes = holders->holders[i].nodes;
    return nodes;
}

static bool graph_but(const struct leak_holders *holders, int64_t steps, enum holder_born not_born,
                      struct leak_holder *out)
{
    const struct graphs kept = {not_born, false}, which = {not_born, true};
    const struct leak_holder *collection = collection_of_graphs(holders, (steps + 1) / 2, kept);
    if (!collection)
        collection = collection_of_graphs(holders, (steps + 1) / 2, which);
    int64_t most = longest(holders, false, which);
    int64_t least = most - most / 4 > steps ? most - most / 4 : steps;
    const struct leak_holder *variable = variable_with_graph(holders, least, kept);
    if (!variable)
        variable = variable_with_graph(holders, least, which);
    if (collection && variable && most > 2 * longest(holders, true, which))
        collection = NULL;
    if (!collection && !variable)
        return false;
    *out = collection ? *collection : *variable;
    out->around = collection ? out->kind : HOLDER_UNKNOWN;
    out->kind = HOLDER_GRAPH;
    return true;
}

/* A sum of losses may be made behind the steps whose graphs it holds. */
bool leak_holders_graph(const struct leak_holders *holders, int64_t steps, bool between,
                        struct leak_holder *out)
{
    if (between)
        return graph_but(holders, steps, HOLDER_BORN_IN, out);
    return graph_but(holders, steps, HOLDER_BORN_BETWEEN, out) ||
           graph_but(holders, steps, HOLDER_BORN_UNKNOWN, out);
}

/* ---- in words ---- */

static bool is_cache(const struct leak_holder *holder)
{
    return strstr(holder->path, "cache") || strstr(holder->path, "past_key") ||
           strstr(holder->path, "kv");
}

static const char *const nouns[] = {
    "",
    "a variable",
    "an attribute",
    "a list",
    "a dict",
    "a set",
    "a deque",
    "a functools.lru_cache of",
    "a deque with maxlen,",
    "a list",
    "the optimizer's own state,",
};

/* Recordings of earlier versions call it a dict. */
static bool is_optimizers(const struct leak_holder *holder, enum purpose purpose)
{
    const char *end = strrchr(holder->path, '.');
    return holder->kind == HOLDER_OPTIMIZER ||
           (purpose == PURPOSE_OPTIMIZER_STATE && holder->kind == HOLDER_DICT && end &&
            strcmp(end, ".state") == 0);
}

const char *holder_line(char text[HOLDER_LINE + 4], const struct leak_holder *holder)
{
    snprintf(text, HOLDER_LINE + 4, *holder->line ? " (%s)" : "%s", holder->line);
    return text;
}

static const char *what_else(const struct leak_holder *holder, bool input)
{
    if (holder->kind == HOLDER_TRIMMED)
        return ", which the program also shortens";
    return is_cache(holder) && !input ? ", a cache" : "";
}

const char *holder_text(char text[HOLDER_TEXT], const struct leak_holder *holder,
                        enum purpose purpose, enum holder_look looked)
{
    bool input = purpose == PURPOSE_INPUT, own = is_optimizers(holder, purpose);
    char line[HOLDER_LINE + 4];
    holder_line(line, holder);
    if (holder->kind == HOLDER_GRAPH && holder->around)
        snprintf(text, HOLDER_TEXT, "the autograd graphs of what is in %s %s%s",
                 nouns[holder->around], holder->path, line);
    else if (holder->kind == HOLDER_GRAPH)
        snprintf(text, HOLDER_TEXT, "the autograd graph of %s%s", holder->path, line);
    else if (holder->kind == HOLDER_UNKNOWN && looked == HOLDER_LOOK_CUT)
        snprintf(text, HOLDER_TEXT,
                 "holder not known: at the end of the program there was no time to look at all");
    else if (holder->kind == HOLDER_UNKNOWN && looked)
        snprintf(text, HOLDER_TEXT,
                 "Python, holder not known: at the end no name was found that leads there; locals "
                 "of functions that returned were not seen");
    else if (holder->kind == HOLDER_UNKNOWN)
        snprintf(text, HOLDER_TEXT, "holder not known: not looked for at the end of the program");
    else
        snprintf(text, HOLDER_TEXT, "%s%s %s%s%s", nouns[own ? HOLDER_OPTIMIZER : holder->kind],
                 input ? " of inputs," : "", holder->path, line, what_else(holder, input));
    return text;
}

/* A tensor of one number, of any type. */
static bool is_single(const struct leak_holder *holder)
{
    return holder->bytes > 0 && holder->bytes <= 8;
}

/* What may be stored in its place, with the comma before it; "": nothing that is smaller. */
static const char *smaller(const struct leak_holder *holder, bool on_host)
{
    if (is_single(holder))
        return ", or store value.item()";
    if (on_host)
        return "";
    return holder->nodes ? ", or store value.detach().cpu()" : ", or store value.cpu()";
}

static void advise_collection(char text[HOLDER_ADVICE], const struct leak_holder *holder,
                              enum purpose purpose, bool on_host)
{
    const char *path = holder->path, *instead = smaller(holder, on_host);
    if (purpose == PURPOSE_INPUT)
        snprintf(text, HOLDER_ADVICE, "keep no batches in %s; if they are needed: %stheir indices",
                 path, on_host ? "" : "batch.cpu(), or ");
    else if (holder->kind == HOLDER_DICT)
        snprintf(text, HOLDER_ADVICE, "bound it: `if len(%s) > N: %s.pop(next(iter(%s)))`%s", path,
                 path, path, instead);
    else if (holder->nodes && is_single(holder))
        snprintf(text, HOLDER_ADVICE, "its elements keep their graphs: store value.item()");
    else
        snprintf(text, HOLDER_ADVICE, "%s.clear() after use, or collections.deque(maxlen=N)%s%s",
                 path, instead,
                 holder->nodes && on_host ? "; value.detach() frees graphs, not the elements" : "");
}

static void advise_graph(char text[HOLDER_ADVICE], const struct leak_holder *holder, bool on_host)
{
    const char *path = holder->path, *value = on_host ? "value.detach()" : "value.detach().cpu()";
    if (holder->around)
        snprintf(text, HOLDER_ADVICE, "put %s into %s; torch.no_grad() where no backward follows",
                 is_single(holder) ? "value.item()" : value, path);
    else if (holder->several)
        snprintf(
            text, HOLDER_ADVICE,
            "`%s = tuple(v.detach() for v in %s)` before a step's forward, where gradients then "
            "end; torch.no_grad() where no backward follows",
            path, path);
    else if (is_single(holder) || !holder->bytes)
        snprintf(text, HOLDER_ADVICE,
                 "`%s += value.item()` for a sum, `%s = %s.detach()` before a step's forward for a "
                 "state; torch.no_grad() where no backward follows",
                 path, path, path);
    else
        snprintf(text, HOLDER_ADVICE,
                 "`%s = %s.detach()` before a step's forward, where gradients then end; "
                 "torch.no_grad() where no backward follows",
                 path, path);
}

const char *holder_advice(char text[HOLDER_ADVICE], const struct leak_holder *holder,
                          enum purpose purpose, bool on_host)
{
    const char *path = holder->path;
    text[0] = '\0';
    if (holder->kind == HOLDER_GRAPH)
        advise_graph(text, holder, on_host);
    else if (is_optimizers(holder, purpose) || holder->kind == HOLDER_BOUNDED ||
             holder->kind == HOLDER_TRIMMED) /* it needs all of it, or has a bound */
        text[0] = '\0';
    else if (holder->kind == HOLDER_LRU_CACHE)
        snprintf(text, HOLDER_ADVICE, "functools.lru_cache(maxsize=N), or %s.cache_clear()", path);
    else if (holder->kind >= HOLDER_LIST)
        advise_collection(text, holder, purpose, on_host);
    else if (holder->kind != HOLDER_UNKNOWN)
        snprintf(text, HOLDER_ADVICE, "del %s, or set it to None, when it is not needed", path);
    return text;
}
