/*
 * pyframes_lines.c - the decoders.
 *
 * LNOTAB     pairs (unsigned step of the address, signed step of the line). A line begins where its
 *            address step leads, so the line step of the pair that passes the address is not taken.
 * RANGES     pairs (unsigned length, signed step of the line): the step is taken first, and the sum
 *            is the line of the next `length` bytes. Step -128: these bytes have no line, and the
 *            count stays.
 * LOCATIONS  entries of a first byte with the top bit set (bits 0-2: length in units of two bytes,
 *            less one; bits 3-6: kind) and following bytes without it. The kind says how the line
 *            moves: 13 and 14 by a signed number that follows, 10 to 12 by kind - 10, 15: these
 *            bytes have no line, and the count stays. The rest is columns.
 */
#include "pyframes_lines.h"

enum { NO_LINE_STEP = -128, UNIT = 2 };
enum { KIND_ONE_LINE_0 = 10, KIND_NO_COLUMNS = 13, KIND_LONG = 14, KIND_NONE = 15 };

static uint32_t as_line(int64_t line)
{
    return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

static uint32_t from_lnotab(const struct pyframes_line_table *table, int64_t at)
{
    int64_t line = table->first_line, address = 0;
    for (size_t i = 0; i + 1 < table->count; i += 2) {
        address += table->bytes[i];
        if (address > at)
            break;
        line += (int8_t)table->bytes[i + 1];
    }
    return as_line(line);
}

static uint32_t from_ranges(const struct pyframes_line_table *table, int64_t at)
{
    int64_t line = table->first_line, end = 0;
    for (size_t i = 0; i + 1 < table->count; i += 2) {
        int8_t step = (int8_t)table->bytes[i + 1];
        end += table->bytes[i];
        if (step != NO_LINE_STEP)
            line += step;
        if (at < end)
            return step == NO_LINE_STEP ? 0 : as_line(line);
    }
    return 0;
}

/* A number in groups of six bits, low ones first, bit 6 = more follows; bit 0 of it is the sign. */
static int64_t signed_number(const struct pyframes_line_table *table, size_t at)
{
    uint64_t value = 0;
    for (unsigned shift = 0; at < table->count && shift < 36; shift += 6, at++) {
        value |= (uint64_t)(table->bytes[at] & 63) << shift;
        if (!(table->bytes[at] & 64))
            break;
    }
    return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

static int64_t line_step(const struct pyframes_line_table *table, size_t at, unsigned kind)
{
    if (kind == KIND_NO_COLUMNS || kind == KIND_LONG)
        return signed_number(table, at + 1);
    if (kind >= KIND_ONE_LINE_0 && kind < KIND_NO_COLUMNS)
        return kind - KIND_ONE_LINE_0;
    return 0;
}

static uint32_t from_locations(const struct pyframes_line_table *table, int64_t at)
{
    int64_t line = table->first_line, end = 0;
    size_t i = 0;
    while (i < table->count) {
        unsigned kind = (table->bytes[i] >> 3) & 15;
        end += (int64_t)UNIT * ((table->bytes[i] & 7) + 1);
        line += line_step(table, i, kind);
        if (at < end)
            return kind == KIND_NONE ? 0 : as_line(line);
        do
            i++;
        while (i < table->count && !(table->bytes[i] & 128));
    }
    return 0;
}

uint32_t pyframes_line(enum pyframes_lines form, const struct pyframes_line_table *table,
                       int64_t at)
{
    if (at < 0)
        return as_line(table->first_line);
    switch (form) {
    case LINES_LNOTAB:
        return from_lnotab(table, at);
    case LINES_RANGES:
        return from_ranges(table, at);
    case LINES_LOCATIONS:
        return from_locations(table, at);
    }
    return 0;
}
