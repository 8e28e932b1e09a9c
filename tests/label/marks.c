#include "marks.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

static const char letters[LABEL_COUNT + 1] = ".zfclboenra";

char marks_letter(unsigned label)
{
    return letters[label];
}

/* ---- labels into text ---- */

struct writer {
    struct buf *out;
    bool dots;
    int64_t step;
    char last;
};

static struct writer writer; /* goes on from one window to the next */

static void put(struct writer *w, const struct labels *labels, const struct label_stretch *stretch)
{
    char letter = letters[stretch->label];
    const struct label_node *closed = label_node(labels, stretch->closed);
    if (stretch->closed && closed->exception)
        buf_text(w->out, "!");
    bool same = letter == w->last && stretch->step == w->step && !closed->exception;
    w->last = letter;
    if (same || (letter == '.' && !w->dots))
        return;
    if (stretch->step != w->step && stretch->step == LABEL_NO_STEP)
        buf_text(w->out, " -:");
    else if (stretch->step != w->step)
        buf_print(w->out, " %lld:", (long long)stretch->step);
    w->step = stretch->step;
    buf_print(w->out, " %c", letter);
}

void marks_take(struct marks_at *at)
{
    writer.out = at->out;
    writer.dots = at->dots;
    while (at->labels->settled) {
        if (at->out)
            put(&writer, at->labels, label_at(at->labels, 0));
        label_pop(at->labels);
    }
}

const char *marks_guess(struct labels *labels)
{
    static struct buf text;
    buf_clear(&text);
    struct writer w = {&text, false, LABEL_NO_STEP, 0};
    label_guess(labels);
    for (size_t i = 0; i < labels->count; i++)
        put(&w, labels, label_at(labels, i));
    const char *string = buf_string(&text);
    return *string == ' ' ? string + 1 : string;
}

/* ---- text into marks ---- */

static unsigned kind_of(char letter)
{
    static const char kinds[] = "?FBZOS";
    const char *at = strchr(kinds, toupper((unsigned char)letter));
    if (toupper((unsigned char)letter) == 'L')
        return MARK_FORWARD;
    REQUIRE(at != NULL && at != kinds && *at);
    return (unsigned)(at - kinds);
}

static void enter(struct marks_sink *sink, char letter, const struct label_mark *mark)
{
    REQUIRE(sink->open_count < sizeof sink->open);
    sink->open[sink->open_count] = letter;
    sink->open_marks[sink->open_count++] = *mark;
    sink->enter(sink->context, letter, mark);
    sink->between(sink->context);
}

static void leave(struct marks_sink *sink, unsigned flags, bool exception)
{
    REQUIRE(sink->open_count > 0);
    struct label_mark mark = sink->open_marks[--sink->open_count];
    mark.flags = flags;
    mark.exception = exception;
    sink->leave(sink->context, sink->open[sink->open_count], &mark);
    sink->between(sink->context);
}

static struct label_mark plain_mark(char letter)
{
    struct label_mark mark = {.thread = 1};
    if (letter != 'U')
        mark.kind = kind_of(letter);
    if (mark.kind == MARK_FORWARD)
        mark.flags = MARK_F_GRAD | MARK_F_TRAINING | MARK_F_PARAMETERS;
    if (mark.kind != MARK_BACKWARD)
        mark.identity = letter == 'l' ? 9 : 1;
    if (letter == 'l')
        mark.flags = MARK_F_GRAD | MARK_F_TRAINING | MARK_F_LOSS_CLASS;
    return mark;
}

static void modify(struct label_mark *mark, char letter)
{
    if (isdigit((unsigned char)letter))
        mark->identity = (uint64_t)(letter - '0');
    else if (letter == 'e')
        mark->flags &= ~(unsigned)MARK_F_TRAINING;
    else if (letter == 'n')
        mark->flags &= ~(unsigned)MARK_F_GRAD;
    else if (letter == 'l')
        mark->flags = (mark->flags & ~(unsigned)MARK_F_PARAMETERS) | MARK_F_LOSS_CLASS;
    else if (letter == 'p')
        mark->flags &= ~(unsigned)MARK_F_PARAMETERS;
    else
        REQUIRE(false && "a modifier");
}

static void one_mark(struct marks_sink *sink, char letter, const char **text)
{
    bool brief = islower((unsigned char)letter);
    struct label_mark mark = plain_mark(letter);
    for (; !brief && **text != '('; ++*text)
        modify(&mark, **text);
    enter(sink, letter, &mark);
    if (brief)
        leave(sink, letter == 'l' ? MARK_F_ONE_ELEMENT : 0, false);
    else
        ++*text;
}

static void read_marks(struct marks_sink *sink, const char *text, size_t count)
{
    const char *end = text + count;
    while (text < end) {
        char letter = *text++;
        if (letter == ' ')
            continue;
        if (letter != ')') {
            one_mark(sink, letter, &text);
        } else {
            unsigned flags = *text == '1' ? MARK_F_ONE_ELEMENT : 0;
            bool exception = *text == '!';
            text += flags || exception;
            leave(sink, flags, exception);
        }
    }
}

void marks_read(struct marks_sink *sink, const char *text)
{
    while (*text) {
        const char *brace = strchr(text, '{');
        if (!brace) {
            read_marks(sink, text, strlen(text));
            return;
        }
        const char *number = brace;
        while (number > text && isdigit((unsigned char)number[-1]))
            number--;
        const char *end = strchr(brace, '}');
        REQUIRE(end != NULL && number < brace);
        read_marks(sink, text, (size_t)(number - text));
        for (long i = atol(number); i > 0; i--)
            read_marks(sink, brace + 1, (size_t)(end - brace - 1));
        text = end + 1;
    }
}

/* ---- marks into labels ---- */

static void enter_label(void *context, char letter, const struct label_mark *mark)
{
    struct marks_at *at = context;
    at->seq++;
    at->ns += 10;
    if (letter == 'U')
        REQUIRE(label_user_begin(at->labels, at->user_count, 1, at->seq, at->ns,
                                 &at->users[at->user_count]) == LABEL_MADE);
    else
        REQUIRE(label_enter(at->labels, mark, at->seq, at->ns) == LABEL_MADE);
    at->user_count += letter == 'U';
}

static void leave_label(void *context, char letter, const struct label_mark *mark)
{
    struct marks_at *at = context;
    at->seq++;
    at->ns += 10;
    if (letter == 'U')
        REQUIRE(label_user_end(at->labels, at->users[--at->user_count], at->seq + 1, at->ns) ==
                LABEL_MADE);
    else
        REQUIRE(label_exit(at->labels, mark, at->seq + 1, at->ns) == LABEL_MADE);
}

static void take_labels(void *context)
{
    marks_take(context);
}

void marks_begin(struct marks_at *at, struct labels *labels, struct buf *out, bool dots)
{
    *at = (struct marks_at){.labels = labels, .out = out, .dots = dots};
    at->sink = (struct marks_sink){
        .context = at, .enter = enter_label, .leave = leave_label, .between = take_labels};
    writer = (struct writer){.step = LABEL_NO_STEP};
    REQUIRE(label_start(labels, 1, 0));
}

void marks_feed(struct marks_at *at, const char *text)
{
    marks_read(&at->sink, text);
}

const char *marks_labels(const char *text, bool dots)
{
    static struct buf out;
    struct labels labels;
    struct marks_at at;
    buf_clear(&out);
    marks_begin(&at, &labels, &out, dots);
    marks_feed(&at, text);
    CHECK(label_is_valid(&labels));
    label_end(&labels);
    marks_take(&at);
    CHECK(label_is_valid(&labels));
    CHECK_INT(labels.count, 0);
    label_clear(&labels);
    const char *string = buf_string(&out);
    return *string == ' ' ? string + 1 : string;
}
