/*
 * Widths of a table's columns on a terminal.
 *
 * No number and no header is cut and no text lost: what is too wide goes on below itself. First
 * each column is as wide as its widest cell. If the line is too long then, texts take several
 * lines, down to what can be read of them. If that is not enough, bytes are written briefly, then
 * some texts stand above others in one column, then spare columns go, the last one first; then
 * texts are narrower still, at last inside of words. What room there is goes where it saves most
 * lines.
 */
#include <stdio.h>
#include <string.h>

#include "emit_parts.h"
#include "mem.h"

enum {
    SHORT_TEXT = 16, /* is not broken */
    READABLE_TEXT = 18,
    READABLE_NAME = 24,
    READABLE_SITE = 30,
    READABLE_CODE = 56, /* of a text with code, before it is broken inside of it */
    LONG_PIECE = 40,    /* no spare column goes for a longer one */
    SAMPLE_ROWS = 32,   /* by which room is shared out */
    MOST_MOVES = 64
};

const char *emit_header(const struct emit *emit, size_t i)
{
    const struct emit_column *column = &emit->columns[i];
    if (*emit->layout[i].header)
        return emit->layout[i].header;
    return column->header ? column->header : column->key;
}

unsigned emit_header_width(const struct emit *emit, size_t i)
{
    return emit_columns_of(emit_header(emit, i), strlen(emit_header(emit, i)));
}

size_t emit_make_brief(char *text, size_t bytes)
{
    char *space = bytes ? memchr(text, ' ', bytes) : NULL;
    if (!space)
        return bytes;
    size_t n = (size_t)(space - text);
    if (n + 1 < bytes && !(n == 1 && *text == '0'))
        text[n++] = space[1];
    return n;
}

/* ---- what a column needs ---- */

static unsigned most(unsigned a, unsigned b)
{
    return a > b ? a : b;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static bool is_cut(const struct emit *emit, size_t i)
{
    return emit->columns[i].kind != EMIT_TEXT || emit->columns[i].flags & EMIT_COMMAND;
}

static void measure(struct emit *emit, size_t i)
{
    struct emit_layout *layout = &emit->layout[i];
    const char *header = emit_header(emit, i);
    unsigned words = emit_piece_of(header, strlen(header), false), piece = 0;
    layout->whole = most(layout->cells, emit_header_width(emit, i));
    if (layout->numbers)
        piece = layout->cells;
    else if (is_cut(emit, i))
        piece = least(layout->cells, EMIT_LEAST_TEXT);
    else
        for (size_t at = i; at < emit->cell_count; at += emit->column_count)
            piece = most(piece,
                         emit_piece_of(emit->text.data + emit->cells[at].text,
                                       emit->cells[at].bytes, emit->columns[i].flags & EMIT_NAME));
    if (layout->cells <= SHORT_TEXT && !is_cut(emit, i) && !layout->several &&
        !(emit->columns[i].flags & EMIT_NAME))
        piece = layout->cells;
    layout->least = most(words, piece);
}

/* Not narrower for other columns' sake. */
static unsigned readable(const struct emit *emit, size_t i)
{
    const struct emit_layout *layout = &emit->layout[i];
    unsigned flags = emit->columns[i].flags, wanted = READABLE_TEXT;
    if (layout->numbers)
        return layout->least;
    if (flags & EMIT_ROOMY)
        wanted = flags & EMIT_WRAP ? READABLE_CODE : READABLE_SITE;
    else if (flags & EMIT_NAME)
        wanted = READABLE_NAME;
    return least(layout->whole, most(wanted, least(layout->least, LONG_PIECE)));
}

static unsigned total(const struct emit *emit, bool shortest)
{
    unsigned sum = 0;
    for (size_t i = 0; i < emit->column_count; i++)
        if (emit->layout[i].shown)
            sum += (shortest ? readable(emit, i) : emit->layout[i].width) + (sum ? EMIT_GAP : 0);
    return sum;
}

/* ---- what goes ---- */

static bool is_bytes(enum emit_kind kind)
{
    return kind == EMIT_BYTES || kind == EMIT_DELTA;
}

static void make_brief(struct emit *emit)
{
    for (size_t i = 0; i < emit->column_count; i++) {
        struct emit_layout *layout = &emit->layout[i];
        if (!layout->shown || !layout->numbers || !is_bytes(emit->columns[i].kind))
            continue;
        layout->brief = true;
        layout->cells = 0;
        for (size_t at = i; at < emit->cell_count; at += emit->column_count) {
            struct emit_cell *cell = &emit->cells[at];
            if (!cell->null)
                cell->bytes = cell->width =
                    (uint32_t)emit_make_brief(emit->text.data + cell->text, cell->bytes);
            layout->cells = most(layout->cells, cell->width);
        }
        measure(emit, i);
    }
}

/* The text of one cell above that of another one. */
static void join(struct emit *emit, const struct emit_cell *above, struct emit_cell *cell)
{
    struct buf lines = {0};
    if (above->null || !above->bytes)
        return;
    buf_add(&lines, emit->text.data + above->text, above->bytes);
    if (!cell->null && cell->bytes) {
        buf_text(&lines, "\n");
        buf_add(&lines, emit->text.data + cell->text, cell->bytes);
    }
    cell->width = cell->null ? above->width : most(above->width, cell->width);
    cell->null = false;
    cell->text = emit->text.count;
    cell->bytes = (uint32_t)lines.count;
    buf_add(&emit->text, buf_string(&lines), lines.count);
    emit->out.broken = emit->out.broken || lines.broken || emit->text.broken;
    buf_clear(&lines);
}

void emit_join_row(struct emit *emit, struct emit_cell *cells)
{
    for (size_t i = emit->column_count; i-- > 0 && !emit->out.broken;)
        if (emit->layout[i].above)
            join(emit, &cells[i], &cells[emit->layout[i].into]);
}

/* The last column that may stands above the next name, or text, that is shown. */
static bool join_one(struct emit *emit)
{
    size_t into = emit->column_count;
    for (size_t i = emit->column_count; i-- > 0;) {
        struct emit_layout *layout = &emit->layout[i];
        if (layout->shown && emit->columns[i].flags & EMIT_ABOVE && into < emit->column_count) {
            char header[sizeof layout->header];
            snprintf(header, sizeof header, "%.30s, %.40s", emit_header(emit, i),
                     emit_header(emit, into));
            memcpy(emit->layout[into].header, header, sizeof header);
            layout->shown = false;
            layout->above = true;
            layout->into = into;
            emit->layout[into].several = true;
            emit->layout[into].cells = most(emit->layout[into].cells, layout->cells);
            for (size_t at = 0; at < emit->cell_count; at += emit->column_count)
                join(emit, &emit->cells[at + i], &emit->cells[at + into]);
            measure(emit, into);
            return true;
        }
        if (layout->shown && emit->columns[i].kind == EMIT_TEXT &&
            (emit->columns[i].flags & EMIT_NAME || into == emit->column_count))
            into = i;
    }
    return false;
}

static void spare(struct emit *emit, size_t i)
{
    char line[64];
    snprintf(line, sizeof line, "\n%.60s\n", emit_header(emit, i));
    emit->layout[i].shown = false;
    if (!strstr(buf_string(&emit->spared), line))
        buf_text(&emit->spared, line);
}

/* The last one that can be left out goes, with the one that it is a pair with. */
static bool spare_one(struct emit *emit)
{
    for (size_t i = emit->column_count; i-- > 0;)
        if (emit->layout[i].shown && emit->columns[i].flags & EMIT_SPARE) {
            spare(emit, i);
            if (i > 0 && emit->columns[i - 1].flags & EMIT_PAIR)
                spare(emit, i - 1);
            return true;
        }
    return false;
}

/* ---- sharing ---- */

/* The column that is furthest above what can be read of it is one narrower; when all pieces are
 * whole, the widest text. */
static bool narrow_one(struct emit *emit, bool below_pieces)
{
    size_t widest = emit->column_count;
    int best = 0;
    for (size_t i = 0; i < emit->column_count; i++) {
        const struct emit_layout *layout = &emit->layout[i];
        bool breaks = below_pieces && !layout->numbers;
        unsigned floor = breaks ? least(layout->least, EMIT_LEAST_TEXT) : layout->least;
        int slack = (int)layout->width - (below_pieces ? 0 : (int)readable(emit, i));
        if (!layout->shown || layout->width <= floor ||
            (widest < emit->column_count && slack <= best))
            continue;
        widest = i;
        best = slack;
    }
    if (widest < emit->column_count)
        emit->layout[widest].width--;
    return widest < emit->column_count;
}

/* What a row costs: its lines, and a little for each cell that is broken. */
enum { LINE_COST = 16 };

static unsigned lines_in(const struct emit *emit, size_t row, size_t i)
{
    const struct emit_layout *layout = &emit->layout[i];
    if (row == 0) {
        const char *header = emit_header(emit, i);
        return emit_lines_of(&(struct emit_column){0}, header, strlen(header), layout->width);
    }
    const struct emit_cell *cell = &emit->cells[(row - 1) * emit->column_count + i];
    if ((cell->width <= layout->width && !layout->several) || layout->numbers || is_cut(emit, i))
        return 1;
    return emit_lines_of(&emit->columns[i], emit->text.data + cell->text, cell->bytes,
                         layout->width);
}

static unsigned cost_of(const struct emit *emit)
{
    size_t rows = emit->cell_count / emit->column_count;
    unsigned cost = 0;
    rows = rows < SAMPLE_ROWS ? rows : SAMPLE_ROWS;
    for (size_t row = 0; row <= rows; row++) {
        unsigned highest = 1;
        for (size_t i = 0; i < emit->column_count; i++) {
            unsigned lines = emit->layout[i].shown ? lines_in(emit, row, i) : 1;
            highest = most(highest, lines);
            cost += lines - 1;
        }
        cost += highest * LINE_COST;
    }
    return cost;
}

/* `count` columns of room go from one column, or from what is left of the line, to another. */
static bool move_room(struct emit *emit, size_t from, size_t to, unsigned count, unsigned *cost)
{
    struct emit_layout *gives = from < emit->column_count ? &emit->layout[from] : NULL;
    struct emit_layout *takes = &emit->layout[to];
    unsigned used = total(emit, false);
    if (from == to || !takes->shown || takes->width + count > takes->whole ||
        (gives ? !gives->shown || gives->width < gives->least + count : used + count > emit->width))
        return false;
    takes->width += count;
    if (gives)
        gives->width -= count;
    unsigned now = cost_of(emit);
    if (now < *cost) {
        *cost = now;
        return true;
    }
    takes->width -= count;
    if (gives)
        gives->width += count;
    return false;
}

static void share_out(struct emit *emit)
{
    unsigned cost = cost_of(emit);
    bool moved = true;
    for (int moves = 0; moved && moves < MOST_MOVES; moves++) {
        moved = false;
        for (size_t to = 0; to < emit->column_count; to++)
            for (size_t from = emit->column_count + 1; from-- > 0;)
                for (unsigned count = 32; count; count /= 2)
                    moved = move_room(emit, from, to, count, &cost) || moved;
    }
}

/* What no line of a text reaches is free again. */
static void give_back(struct emit *emit)
{
    for (size_t i = 0; i < emit->column_count; i++) {
        struct emit_layout *layout = &emit->layout[i];
        bool cut = is_cut(emit, i) && !layout->numbers;
        if (!layout->shown || layout->width >= layout->whole || cut)
            continue;
        while (layout->width > layout->least) {
            unsigned cost = cost_of(emit);
            layout->width--;
            if (cost_of(emit) == cost)
                continue;
            layout->width++;
            break;
        }
    }
}

/* The last column's lines are as long as they can be. */
static void take_rest(struct emit *emit)
{
    unsigned used = total(emit, false);
    for (size_t i = emit->column_count; i-- > 0;)
        if (emit->layout[i].shown) {
            struct emit_layout *layout = &emit->layout[i];
            unsigned rest = used < emit->width ? emit->width - used : 0;
            if (!layout->numbers)
                layout->width += least(rest, layout->whole - layout->width);
            return;
        }
}

static void fit(struct emit *emit)
{
    while (total(emit, true) > emit->width && (join_one(emit) || spare_one(emit)))
        ;
    for (size_t i = 0; i < emit->column_count; i++)
        emit->layout[i].width = emit->layout[i].whole;
    while (total(emit, false) > emit->width && narrow_one(emit, false))
        ;
    while (total(emit, false) > emit->width && narrow_one(emit, true))
        ;
    share_out(emit);
    give_back(emit);
    share_out(emit);
    take_rest(emit);
}

/* Commands that would look alike go on below themselves. */
static void keep_apart(struct emit *emit)
{
    for (size_t i = 0; i < emit->column_count; i++)
        emit->layout[i].wraps = emit->columns[i].flags & EMIT_COMMAND && emit->layout[i].shown &&
                                emit->layout[i].width < emit->layout[i].whole &&
                                emit_is_cut_alike(emit, i);
}

void emit_settle(struct emit *emit)
{
    for (size_t i = 0; i < emit->column_count; i++) {
        struct emit_layout *layout = &emit->layout[i];
        unsigned flags = emit->columns[i].flags;
        layout->shown = !(flags & EMIT_PROGRAMS) && (layout->known || !(flags & EMIT_IF_KNOWN));
        measure(emit, i);
        layout->width = layout->whole;
    }
    if (!emit->width || emit->style != EMIT_ROWS || total(emit, false) <= emit->width)
        return;
    if (total(emit, true) > emit->width)
        make_brief(emit);
    fit(emit);
    keep_apart(emit);
}
