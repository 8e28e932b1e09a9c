#include "marks.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

static const char letters[LABEL_COUNT + 1] = ".zfclboenra";

/* ---- labels into text ---- */

struct writer {
    struct buf *out;
    bool dots;
    int64_t step;
    char last;
};

/* Where the run of labels was when the last stretch of a window was taken. */
static struct writer writer;

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

void marks_take(struct labels *labels, struct buf *out, bool dots)
{
    writer.out = out;
    writer.dots = dots;
    while (labels->settled) {
        if (out)
            put(&writer, labels, label_at(labels, 0));
        label_pop(labels);
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

static void enter(struct labels *labels, struct marks_at *at, char letter,
                  const struct label_mark *mark)
{
    REQUIRE(at->open_count < sizeof at->open);
    at->seq++;
    at->ns += 10;
    at->open[at->open_count] = letter;
    at->open_marks[at->open_count++] = *mark;
    if (letter == 'U')
        REQUIRE(label_user_begin(labels, at->user_count, 1, at->seq, at->ns,
                                 &at->users[at->user_count]) == LABEL_MADE);
    else
        REQUIRE(label_enter(labels, mark, at->seq, at->ns) == LABEL_MADE);
    at->user_count += letter == 'U';
}

static void leave(struct labels *labels, struct marks_at *at, unsigned flags, bool exception)
{
    REQUIRE(at->open_count > 0);
    struct label_mark mark = at->open_marks[--at->open_count];
    mark.flags = flags;
    mark.exception = exception;
    at->seq++;
    at->ns += 10;
    if (at->open[at->open_count] == 'U')
        REQUIRE(label_user_end(labels, at->users[--at->user_count], at->seq + 1, at->ns) ==
                LABEL_MADE);
    else
        REQUIRE(label_exit(labels, &mark, at->seq + 1, at->ns) == LABEL_MADE);
}

static void one_mark(struct labels *labels, struct marks_at *at, char letter, const char **text)
{
    bool brief = islower((unsigned char)letter);
    struct label_mark mark = {.thread = 1};
    if (letter != 'U')
        mark.kind = kind_of(letter);
    if (mark.kind == MARK_FORWARD)
        mark.flags = MARK_F_GRAD | MARK_F_TRAINING | MARK_F_PARAMETERS;
    if (mark.kind != MARK_BACKWARD)
        mark.identity = letter == 'l' ? 9 : 1;
    if (letter == 'l')
        mark.flags = MARK_F_GRAD | MARK_F_TRAINING | MARK_F_LOSS_CLASS;
    for (; !brief && **text != '('; ++*text) {
        if (isdigit((unsigned char)**text))
            mark.identity = (uint64_t)(**text - '0');
        else if (**text == 'e')
            mark.flags &= ~(unsigned)MARK_F_TRAINING;
        else if (**text == 'n')
            mark.flags &= ~(unsigned)MARK_F_GRAD;
        else if (**text == 'l')
            mark.flags = (mark.flags & ~(unsigned)MARK_F_PARAMETERS) | MARK_F_LOSS_CLASS;
        else if (**text == 'p')
            mark.flags &= ~(unsigned)MARK_F_PARAMETERS;
        else
            REQUIRE(!"a modifier");
    }
    enter(labels, at, letter, &mark);
    if (brief)
        leave(labels, at, letter == 'l' ? MARK_F_ONE_ELEMENT : 0, false);
    else
        ++*text;
}

static void feed(struct labels *labels, struct marks_at *at, const char *text, size_t count,
                 struct buf *out, bool dots)
{
    const char *end = text + count;
    while (text < end) {
        char letter = *text++;
        if (letter == ' ')
            continue;
        if (letter != ')') {
            one_mark(labels, at, letter, &text);
        } else {
            unsigned flags = *text == '1' ? MARK_F_ONE_ELEMENT : 0;
            bool exception = *text == '!';
            text += flags || exception;
            leave(labels, at, flags, exception);
        }
        marks_take(labels, out, dots);
    }
}

void marks_feed(struct labels *labels, struct marks_at *at, const char *text, struct buf *out,
                bool dots)
{
    while (*text) {
        const char *brace = strchr(text, '{');
        if (!brace) {
            feed(labels, at, text, strlen(text), out, dots);
            return;
        }
        const char *number = brace;
        while (number > text && isdigit((unsigned char)number[-1]))
            number--;
        const char *end = strchr(brace, '}');
        REQUIRE(end != NULL && number < brace);
        feed(labels, at, text, (size_t)(number - text), out, dots);
        for (long i = atol(number); i > 0; i--)
            feed(labels, at, brace + 1, (size_t)(end - brace - 1), out, dots);
        text = end + 1;
    }
}

const char *marks_labels(const char *text, bool dots)
{
    static struct buf out;
    struct labels labels;
    struct marks_at at = {0};
    buf_clear(&out);
    writer = (struct writer){.step = LABEL_NO_STEP};
    REQUIRE(label_start(&labels, 1, 0));
    marks_feed(&labels, &at, text, &out, dots);
    CHECK(label_is_valid(&labels));
    label_end(&labels);
    marks_take(&labels, &out, dots);
    CHECK(label_is_valid(&labels));
    CHECK_INT(labels.count, 0);
    label_clear(&labels);
    const char *string = buf_string(&out);
    return *string == ' ' ? string + 1 : string;
}
