/* check_fold.c - see check_fold.h. */
#include "check_fold.h"

#include <inttypes.h>
#include <string.h>

#include "error.h"
#include "human.h"
#include "mem.h"

/* ---- which are alike ---- */

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* Host memory is no GPU's; ranks have a GPU each. */
static bool same_sort(const struct check_row *a, const struct check_row *b)
{
    if (!a->process || !b->process || !a->scope != !b->scope)
        return false;
    return (a->process->rank == REPORT_ANY) == (b->process->rank == REPORT_ANY) &&
           (!a->scope || report_is_host(a->scope) == report_is_host(b->scope));
}

static bool same_result(const struct check_finding *a, const struct check_finding *b)
{
    bool unknown = a->result == CHECK_UNKNOWN;
    return a->result == b->result && a->known == b->known && strcmp(a->check, b->check) == 0 &&
           (!unknown || same_text(a->why_not, b->why_not));
}

static bool are_alike(const struct check_run *run, const struct check_place *a,
                      const struct check_place *b)
{
    const struct check_row *one = &run->rows[a->first], *other = &run->rows[b->first];
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!same_sort(&one[i], &other[i]) || !same_result(&one[i].finding, &other[i].finding))
            return false;
    return true;
}

static int add(struct check_places *places, size_t first)
{
    if (!MEM_GROW(places->list, places->cap, places->count + 1))
        return ERR_NOMEM;
    places->list[places->count] = (struct check_place){.first = first, .like = places->count};
    places->count++;
    return 0;
}

/* Of few sorts, however many places there are. */
static int find_alike(struct check_places *places)
{
    size_t *firsts = mem_alloc(places->count + 1, sizeof *firsts), count = 0;
    if (!firsts)
        return ERR_NOMEM;
    for (size_t at = 0; at < places->count; at++) {
        struct check_place *place = &places->list[at];
        size_t i = 0;
        while (i < count && !are_alike(places->run, &places->list[firsts[i]], place))
            i++;
        if (i == count)
            firsts[count++] = at;
        place->like = firsts[i];
        places->list[firsts[i]].members++;
    }
    mem_free(firsts);
    return 0;
}

int check_places_find(const struct check_run *run, struct check_places *out)
{
    int err = 0;
    *out = (struct check_places){.run = run};
    for (size_t i = 0; i < run->count && err == 0; i++) {
        if (i == 0 || !check_same_table(run, &run->rows[i], &run->rows[i - 1]))
            err = add(out, i);
        if (err == 0)
            out->list[out->count - 1].count++;
    }
    return err ? err : find_alike(out);
}

bool check_place_is_folded(const struct check_places *places, size_t at)
{
    size_t like = places->list[at].like;
    return like != at && places->list[like].members > CHECK_FEW;
}

/* ---- the worst ---- */

static bool is_worse(const struct check_finding *a, const struct check_finding *b)
{
    if (!a->known || !b->known)
        return false;
    if (a->unit == CHECK_RATIO)
        return a->ratio - a->limit_ratio > b->ratio - b->limit_ratio;
    return (double)a->value - (double)a->limit > (double)b->value - (double)b->limit;
}

const struct check_row *check_place_worst(const struct check_places *places, size_t at, size_t row)
{
    const struct check_row *rows = places->run->rows;
    const struct check_row *worst = &rows[places->list[at].first + row];
    for (size_t i = at + 1; i < places->count; i++) {
        const struct check_row *one = &rows[places->list[i].first + row];
        if (places->list[i].like == at && is_worse(&one->finding, &worst->finding))
            worst = one;
    }
    return worst;
}

/* ---- their names ---- */

static int64_t number_of(const struct check_row *row)
{
    return row->process->rank != REPORT_ANY ? row->process->rank : row->process->id;
}

struct names { /* of places that are alike */
    int64_t count, first, last;
    bool in_row;     /* no number between them is another's */
    bool one_device; /* they have one name of a device */
};

static void add_name(struct names *names, const struct check_row *row, const char *device)
{
    int64_t number = number_of(row);
    if (row->scope)
        names->one_device = names->one_device && strcmp(row->scope->device_text, device) == 0;
    if (number == names->last) /* another device of it */
        return;
    names->in_row = names->in_row && number == names->last + 1;
    names->last = number;
    names->count++;
}

void check_place_names(const struct check_places *places, size_t at, struct buf *out)
{
    const struct check_row *rows = places->run->rows;
    const struct check_row *first = &rows[places->list[at].first];
    const char *device = first->scope ? first->scope->device_text : "";
    int64_t number = number_of(first);
    struct names names = {1, number, number, true, true};
    char count[HUMAN_MAX];
    for (size_t i = at + 1; i < places->count; i++)
        if (places->list[i].like == at)
            add_name(&names, &rows[places->list[i].first], device);
    buf_print(out, "%s %s%s", human_count(count, names.count),
              first->process->rank != REPORT_ANY ? "rank" : "process",
              names.count == 1                     ? ""
              : first->process->rank != REPORT_ANY ? "s"
                                                   : "es");
    if (names.in_row)
        buf_print(out, " (%" PRId64 " to %" PRId64 ")", names.first, names.last);
    if (*device)
        buf_print(out, " on %s%s", device, names.one_device ? "" : " and others");
}

void check_places_clear(struct check_places *places)
{
    mem_free(places->list);
    *places = (struct check_places){0};
}
