#include "turns.h"

#include <assert.h>
#include <string.h>

#include "error.h"
#include "mem.h"
#include "pqueue.h"
#include "search.h"

/* ---- making it ---- */

struct head { /* the next event of an input */
    struct turns_input *input;
    struct spool_reader reader;
    size_t place; /* among the inputs */
    int64_t seq, ns;
    int64_t at;   /* in the merged run */
    int64_t done; /* old numbers up to this one have new ones */
};

static bool is_before(const struct head *a, const struct head *b)
{
    return a->at != b->at ? a->at < b->at : a->place < b->place;
}

/* 1, 0 at the end, or an error. */
static int advance(struct head *head)
{
    uint64_t seq = 0;
    int64_t ns = 0;
    int got = spool_get_number(&head->reader, &seq);
    if (got == 1)
        got = spool_get_signed(&head->reader, &ns) == 1 ? 1 : ERR_INTERNAL;
    if (got != 1)
        return got;
    head->seq += (int64_t)seq;
    head->ns += ns;
    head->at = clock_ns(head->input->side, head->ns);
    return 1;
}

static int begin_turn(struct spool *spool, struct turns_map *map, int64_t old, int64_t now)
{
    struct turn turn = {old, now};
    assert(old > 0 && now > 0);
    if (map->turn_count++ % TURNS_PAGE == 0) {
        if (!MEM_GROW(map->marks, map->mark_cap, map->mark_count + 1))
            return ERR_NOMEM;
        map->marks[map->mark_count++] = (struct turns_mark){turn, spool_place(&map->turns)};
        map->last = turn;
        return 0;
    }
    int err = spool_put_number(spool, &map->turns, (uint64_t)(old - map->last.old));
    if (err == 0)
        err = spool_put_number(spool, &map->turns, (uint64_t)(now - map->last.now));
    map->last = turn;
    return err;
}

struct numbers { /* that were given */
    int64_t last;
    const struct turns_input *to; /* the last one; NULL: none was */
};

/* The old numbers up to `seq` get the next new ones. */
static int number(struct spool *spool, struct head *head, int64_t seq, struct numbers *numbers)
{
    struct turns_map *map = head->input->map;
    int err = 0;
    assert(numbers->last >= 0 && head->done >= 0);
    if (seq <= head->done)
        return 0;
    if (numbers->to != head->input)
        err = begin_turn(spool, map, head->done + 1, numbers->last + 1);
    numbers->to = head->input;
    numbers->last += seq - head->done;
    head->done = map->most = seq;
    return err;
}

static int go_on(struct spool *spool, struct head *heads, size_t count, struct numbers *numbers)
{
    int err = 0;
    while (count && err == 0) {
        struct head *head = &heads[0];
        err = number(spool, head, head->seq, numbers);
        int got = err < 0 ? err : advance(head);
        if (got == 0) { /* what stands behind its last event */
            err = number(spool, head, head->input->last_seq, numbers);
            spool_reader_clear(&head->reader);
            *head = heads[--count];
        }
        err = got < 0 ? got : err;
        if (count)
            PQUEUE_SINK(heads, 0, count, is_before);
    }
    for (size_t i = 0; i < count; i++)
        spool_reader_clear(&heads[i].reader);
    return err;
}

static int add_head(struct spool *spool, struct turns_input *input, size_t place,
                    struct head *heads, size_t *count, struct numbers *numbers)
{
    struct head *head = &heads[*count];
    *head = (struct head){.input = input, .place = place};
    spool_read(&head->reader, spool, input->events);
    int got = advance(head);
    if (got == 0) {
        got = number(spool, head, input->last_seq, numbers);
        spool_reader_clear(&head->reader);
        return got;
    }
    if (got < 0) {
        spool_reader_clear(&head->reader);
        return got;
    }
    ++*count;
    PQUEUE_RISE(heads, *count - 1, is_before);
    return 0;
}

int turns_make(struct spool *spool, struct turns_input *inputs, size_t count, uint64_t *events)
{
    struct head *heads = mem_alloc(count + 1, sizeof *heads);
    size_t head_count = 0;
    struct numbers numbers = {0, NULL};
    int err = heads ? 0 : ERR_NOMEM;
    for (size_t i = 0; i < count && err == 0; i++)
        err = add_head(spool, &inputs[i], i, heads, &head_count, &numbers);
    if (err == 0)
        err = go_on(spool, heads, head_count, &numbers);
    for (size_t i = 0; i < count && err == 0; i++)
        err = spool_seal(spool, &inputs[i].map->turns);
    mem_free(heads);
    *events = (uint64_t)numbers.last;
    return err;
}

/* ---- asking it ---- */

static struct turns_page *oldest(struct turns_map *map)
{
    struct turns_page *best = NULL;
    for (size_t i = 0; i < TURNS_PAGES; i++) {
        if (!map->pages[i]) {
            map->pages[i] = mem_alloc(1, sizeof **map->pages);
            return map->pages[i];
        }
        if (!best || map->asked - map->pages[i]->used > map->asked - best->used)
            best = map->pages[i];
    }
    return best;
}

static int read_turns(struct turns_map *map, const struct spool *spool, struct turns_page *page)
{
    const struct turns_mark *mark = &map->marks[page->number];
    uint64_t left = map->turn_count - (uint64_t)page->number * TURNS_PAGE;
    struct turn turn = mark->turn;
    if (!map->reader.spool)
        spool_read(&map->reader, spool, &map->turns);
    int err = spool_seek(&map->reader, mark->place);
    page->turns[0] = turn;
    for (page->count = 1; err == 0 && page->count < TURNS_PAGE && page->count < left;) {
        uint64_t old = 0, now = 0;
        if (spool_get_number(&map->reader, &old) != 1 || spool_get_number(&map->reader, &now) != 1)
            return ERR_IO;
        turn.old += (int64_t)old;
        turn.now += (int64_t)now;
        page->turns[page->count++] = turn;
    }
    return err;
}

static int find_page(struct turns_map *map, const struct spool *spool, size_t number,
                     struct turns_page **out)
{
    assert(number < map->mark_count);
    map->asked++;
    for (size_t i = 0; i < TURNS_PAGES && map->pages[i]; i++) {
        *out = map->pages[i];
        if ((*out)->count && (*out)->number == number) {
            (*out)->used = map->asked;
            return 0;
        }
    }
    struct turns_page *page = oldest(map);
    if (!page)
        return ERR_NOMEM;
    page->number = number;
    page->used = map->asked;
    page->count = 0;
    *out = page;
    return read_turns(map, spool, page);
}

int turns_find(struct turns_map *map, const struct spool *spool, int64_t old, int64_t *now)
{
    struct turns_page *page;
    size_t number, at;
    *now = old;
    if (old < 1 || !map->turn_count)
        return 0;
    old = old > map->most ? map->most : old;
    SEARCH_FIRST(number, 0, map->mark_count, map->marks[number].turn.old <= old);
    assert(number > 0);
    int err = find_page(map, spool, number - 1, &page);
    if (err < 0)
        return err;
    SEARCH_FIRST(at, 0, (size_t)page->count, page->turns[at].old <= old);
    *now = page->turns[at - 1].now + (old - page->turns[at - 1].old);
    return 0;
}

void turns_clear(struct turns_map *map)
{
    spool_stream_clear(&map->turns);
    spool_reader_clear(&map->reader);
    for (size_t i = 0; i < TURNS_PAGES; i++)
        mem_free(map->pages[i]);
    mem_free(map->marks);
    *map = (struct turns_map){0};
}
