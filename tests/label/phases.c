#include "phases.h"

#include <stdlib.h>
#include <string.h>

#include "test.h"

/* ---- marks into events ---- */

static void enter(void *context, char letter, const struct label_mark *mark)
{
    struct phases_feed *feed = context;
    if (letter == 'U')
        feed_phase(&feed->feed, feed->name);
    else
        feed_event(&feed->feed, (struct event){.kind = EVENT_ENTER,
                                               .size = mark->kind,
                                               .a = mark->identity,
                                               .b = mark->flags});
}

static void leave(void *context, char letter, const struct label_mark *mark)
{
    struct phases_feed *feed = context;
    if (letter == 'U')
        feed_phase_end(&feed->feed, feed->name);
    else
        feed_event(&feed->feed, (struct event){.kind = EVENT_EXIT,
                                               .flags = mark->exception ? EVENT_F_EXCEPTION : 0,
                                               .size = mark->kind,
                                               .a = mark->identity,
                                               .b = mark->flags});
}

static void between(void *context)
{
    struct phases_feed *feed = context;
    if (feed->bytes)
        feed_alloc(&feed->feed, feed->heap, feed->address += 0x1000, (uint64_t)feed->bytes);
    if (feed->flushes)
        feed_flush(&feed->feed);
}

void phases_begin(struct phases_feed *feed)
{
    *feed = (struct phases_feed){.bytes = 100};
    feed->sink =
        (struct marks_sink){.context = feed, .enter = enter, .leave = leave, .between = between};
    feed_begin(&feed->feed, NULL, &feed->rows);
    feed->name = feed_string(&feed->feed, "mine");
    feed->heap = feed_heap(&feed->feed, 1, 0, 0);
    feed_alloc(&feed->feed, feed->heap, 0x10, 1);
}

void phases_marks(struct phases_feed *feed, const char *text)
{
    marks_read(&feed->sink, text);
}

void phases_end(struct phases_feed *feed)
{
    feed_end(&feed->feed, false);
}

void phases_clear(struct phases_feed *feed)
{
    state_free(feed->feed.state);
    rows_clear(&feed->rows);
}

/* ---- rows into text ---- */

static int by_begin(const void *a, const void *b)
{
    const struct row *x = *(const struct row *const *)a, *y = *(const struct row *const *)b;
    int64_t difference = x->at[PHASE_BEGIN_SEQ] - y->at[PHASE_BEGIN_SEQ];
    if (!difference)
        difference = x->at[0] - y->at[0];
    return difference < 0 ? -1 : difference > 0;
}

static char letter_of(const struct row *row)
{
    for (unsigned label = 0; label < LABEL_COUNT; label++)
        if (strcmp(row->text[PHASE_KIND], label_kind((enum label)label)) == 0 &&
            strcmp(row->text[PHASE_NAME], label_name((enum label)label)) == 0)
            return marks_letter(label);
    CHECK_STR(row->text[PHASE_KIND], "user");
    return 'U';
}

static void put_ended(struct buf *out, const struct row *row)
{
    if (!row->text[PHASE_ENDED])
        buf_text(out, "*");
    else if (strcmp(row->text[PHASE_ENDED], "exception") == 0)
        buf_text(out, "!");
}

/* Those of the list whose parent it is; one with a letter of its own for each. */
static void put_children(struct buf *out, const struct row *const *list, size_t count,
                         int64_t parent)
{
    int64_t step = ROW_NULL;
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        const struct row *row = list[i];
        if (row->at[PHASE_PARENT] != parent)
            continue;
        if (parent != ROW_NULL && !any)
            buf_text(out, "(");
        if (parent == ROW_NULL && row->at[PHASE_STEP] != step) {
            step = row->at[PHASE_STEP];
            if (step == ROW_NULL)
                buf_text(out, " -:");
            else
                buf_print(out, " %lld:", (long long)step);
        }
        any = true;
        buf_print(out, " %c", letter_of(row));
        put_ended(out, row);
        put_children(out, list, count, row->at[0]);
    }
    if (parent != ROW_NULL && any)
        buf_text(out, " )");
}

static bool is_of(const struct row *row, int64_t process, int64_t thread)
{
    bool of_thread = strcmp(row->text[PHASE_SCOPE], "thread") == 0;
    bool wanted = thread < 0 || of_thread == (thread > 0);
    return row->at[PHASE_PROCESS_ID] == process && wanted &&
           (thread <= 0 || row->at[PHASE_THREAD_ID] == thread);
}

static const char *text_below(const struct rows *rows, int64_t process, int64_t thread,
                              int64_t parent)
{
    static struct buf out;
    const struct row_table *table = &rows->tables[SCH_PHASE];
    const struct row **list = calloc(table->count + 1, sizeof(struct row *));
    size_t count = 0;
    for (size_t i = 0; i < table->count; i++)
        if (is_of(&table->rows[i], process, thread))
            list[count++] = &table->rows[i];
    qsort(list, count, sizeof *list, by_begin);
    buf_clear(&out);
    put_children(&out, list, count, parent);
    free(list);
    const char *string = buf_string(&out);
    return *string == ' ' ? string + 1 : string;
}

const char *phases_of_thread(const struct rows *rows, int64_t process, int64_t thread)
{
    return text_below(rows, process, thread, ROW_NULL);
}

const char *phases_text(const struct rows *rows, int64_t process)
{
    return phases_of_thread(rows, process, -1);
}

const char *phases_inside(const struct rows *rows, int64_t thread, int64_t parent)
{
    static char text[256];
    const char *in = text_below(rows, 1, thread, parent); /* "( ... )" */
    size_t bytes = strlen(in);
    text[0] = '\0';
    if (bytes > 4 && bytes < sizeof text) {
        memcpy(text, in + 2, bytes - 4);
        text[bytes - 4] = '\0';
    }
    return text;
}
