#include "gunzip.h"

#include <string.h>

/* Of the 286 symbols of lengths, those behind 256: how long a copy is, from its extra bits on. */
static const uint16_t length_from[29] = {3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
                                         15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
                                         67, 83, 99, 115, 131, 163, 195, 227, 258};
static const uint8_t length_bits[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                        2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
static const uint16_t distance_from[30] = {
    1,   2,   3,   4,   5,   7,    9,    13,   17,   25,   33,   49,   65,    97,    129,
    193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
static const uint8_t distance_bits[30] = {0, 0, 0, 0, 1, 1, 2, 2,  3,  3,  4,  4,  5,  5,  6,
                                          6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};

enum { HEAD_FLAG_CRC = 2, HEAD_FLAG_EXTRA = 4, HEAD_FLAG_NAME = 8, HEAD_FLAG_COMMENT = 16 };
enum { END_OF_BLOCK = 256, LENGTH_CODES = 19, MOST_LENGTHS = 286, MOST_DISTANCES = 30 };

static const char cut_off[] = "it is compressed by gzip and cut off";
static const char damaged[] = "it is compressed by gzip and damaged";

bool gunzip_is(const unsigned char *first, size_t count)
{
    return count >= 3 && first[0] == 0x1f && first[1] == 0x8b && first[2] == 8;
}

void gunzip_start(struct gunzip *gunzip, const struct pickle_input *packed)
{
    gunzip->packed = *packed;
    gunzip->state = GUNZIP_HEAD;
    gunzip->trouble = NULL;
    gunzip->error = 0;
    gunzip->bits = 0;
    gunzip->bit_count = 0;
    gunzip->last = false;
    gunzip->first = true;
    gunzip->left_length = gunzip->left_distance = 0;
    gunzip->given = gunzip->whole = 0;
    gunzip->crc = 0;
}

void gunzip_clear(struct gunzip *gunzip)
{
    input_close(&gunzip->packed);
}

bool gunzip_is_valid(const struct gunzip *gunzip)
{
    bool copies = gunzip->left_length && gunzip->state == GUNZIP_CODES;
    return gunzip->bit_count <= 63 && !(gunzip->bits >> gunzip->bit_count) &&
           (!gunzip->left_length || copies || gunzip->state == GUNZIP_STORED) &&
           (!copies || (gunzip->left_distance && gunzip->left_distance <= gunzip->given &&
                        gunzip->left_distance <= GUNZIP_WINDOW));
}

static bool wrong(struct gunzip *gunzip, const char *why)
{
    if (gunzip->state != GUNZIP_WRONG)
        gunzip->trouble = why;
    gunzip->state = GUNZIP_WRONG;
    gunzip->left_length = 0;
    return false;
}

/* ---- bits ---- */

/* As many bits as there is room for; near the end of the file there are fewer. */
static void fill(struct gunzip *gunzip)
{
    const unsigned char *byte;
    while (gunzip->bit_count <= 48 && (byte = input_take(&gunzip->packed, 1))) {
        gunzip->bits |= (uint64_t)*byte << gunzip->bit_count;
        gunzip->bit_count += 8;
    }
    gunzip->error = gunzip->packed.error;
}

static void drop(struct gunzip *gunzip, unsigned count)
{
    gunzip->bits >>= count;
    gunzip->bit_count -= count;
}

/* Up to 32 of them; false, and the stream is wrong: there are fewer. */
static bool take(struct gunzip *gunzip, unsigned count, uint32_t *out)
{
    if (gunzip->bit_count < count)
        fill(gunzip);
    if (gunzip->bit_count < count)
        return wrong(gunzip, cut_off);
    *out = (uint32_t)(gunzip->bits & ((UINT64_C(1) << count) - 1));
    drop(gunzip, count);
    return true;
}

/* ---- codes ---- */

static unsigned mirrored(unsigned code, unsigned bits)
{
    unsigned out = 0;
    for (unsigned i = 0; i < bits; i++)
        out |= (code >> i & 1) << (bits - 1 - i);
    return out;
}

static void fill_fast(struct gunzip_code *code, unsigned value, unsigned bits, unsigned symbol)
{
    for (unsigned at = mirrored(value, bits); at < 1u << GUNZIP_FAST_BITS; at += 1u << bits)
        code->fast[at] = (uint16_t)(symbol << 4 | bits);
}

/* How many codes of the longest kind are left over; negative: there are more than can be. */
static int32_t codes_left(const struct gunzip_code *code)
{
    int32_t left = 1;
    for (unsigned bits = 1; bits <= GUNZIP_LONGEST && left >= 0; bits++)
        left = left * 2 - code->count[bits];
    return left;
}

/* Codes are given out in the order of their lengths, and of symbols among these: a rule of deflate.
 * All have to be used, but where there is one code only, or none. */
static bool make_code(struct gunzip_code *code, const uint8_t *bits_of, unsigned symbols)
{
    uint16_t at[GUNZIP_LONGEST + 2] = {0};
    unsigned next[GUNZIP_LONGEST + 2] = {0}, used = 0;
    memset(code->fast, 0, sizeof code->fast);
    memset(code->count, 0, sizeof code->count);
    for (unsigned i = 0; i < symbols; i++)
        code->count[bits_of[i]]++;
    code->count[0] = 0;
    for (unsigned bits = 1; bits <= GUNZIP_LONGEST; bits++) {
        used += code->count[bits];
        at[bits + 1] = (uint16_t)(at[bits] + code->count[bits]);
        next[bits + 1] = (next[bits] + code->count[bits]) << 1;
    }
    int32_t left = codes_left(code);
    if (left < 0 || (left > 0 && (used > 1 || used != code->count[1])))
        return false;
    for (unsigned i = 0; i < symbols; i++) {
        unsigned bits = bits_of[i];
        if (!bits)
            continue;
        code->symbol[at[bits]++] = (uint16_t)i;
        if (bits <= GUNZIP_FAST_BITS)
            fill_fast(code, next[bits], bits, i);
        next[bits]++;
    }
    return true;
}

/* A code that is longer than the table of short ones: bit by bit. -1: it is none. */
static int long_symbol(const struct gunzip_code *code, uint64_t bits, unsigned *length)
{
    uint32_t value = 0, first = 0, index = 0;
    for (unsigned n = 1; n <= GUNZIP_LONGEST; n++) {
        value = value << 1 | (bits >> (n - 1) & 1);
        if (value - first < code->count[n]) {
            *length = n;
            return code->symbol[index + value - first];
        }
        index += code->count[n];
        first = (first + code->count[n]) << 1;
    }
    return -1;
}

/* -1, and the stream is wrong. */
static int take_symbol(struct gunzip *gunzip, const struct gunzip_code *code)
{
    if (gunzip->bit_count < GUNZIP_LONGEST)
        fill(gunzip);
    unsigned fast = code->fast[gunzip->bits & ((1u << GUNZIP_FAST_BITS) - 1)];
    unsigned length = fast & 15;
    int symbol = fast ? (int)(fast >> 4) : long_symbol(code, gunzip->bits, &length);
    if (symbol < 0 || length > gunzip->bit_count) {
        wrong(gunzip, symbol < 0 && gunzip->bit_count >= GUNZIP_LONGEST ? damaged : cut_off);
        return -1;
    }
    drop(gunzip, length);
    return symbol;
}

/* ---- a block ---- */

static bool fixed_codes(struct gunzip *gunzip)
{
    uint8_t bits[GUNZIP_SYMBOLS];
    memset(bits, 8, 144);
    memset(bits + 144, 9, 112);
    memset(bits + 256, 7, 24);
    memset(bits + 280, 8, 8);
    bool made = make_code(&gunzip->lengths, bits, GUNZIP_SYMBOLS);
    memset(bits, 5, 32);
    return made && make_code(&gunzip->distances, bits, 32);
}

/* The lengths of codes are written in a code of their own, with counts of repetitions. */
static bool take_lengths(struct gunzip *gunzip, const struct gunzip_code *code, uint8_t *bits,
                         unsigned count)
{
    unsigned at = 0;
    while (at < count) {
        int symbol = take_symbol(gunzip, code);
        uint32_t times = 0;
        if (symbol < 0)
            return false;
        if (symbol < 16) {
            bits[at++] = (uint8_t)symbol;
            continue;
        }
        if (!take(gunzip, symbol == 16 ? 2 : symbol == 17 ? 3 : 7, &times))
            return false;
        times += symbol == 18 ? 11 : 3;
        if (times > count - at || (symbol == 16 && !at))
            return wrong(gunzip, damaged);
        memset(bits + at, symbol == 16 ? bits[at - 1] : 0, times);
        at += times;
    }
    return true;
}

static bool own_codes(struct gunzip *gunzip)
{
    static const uint8_t order[LENGTH_CODES] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                11, 4,  12, 3, 13, 2, 14, 1, 15};
    uint8_t bits[MOST_LENGTHS + MOST_DISTANCES] = {0}, first[LENGTH_CODES] = {0};
    uint32_t lengths, distances, codes, value;
    if (!take(gunzip, 5, &lengths) || !take(gunzip, 5, &distances) || !take(gunzip, 4, &codes))
        return false;
    lengths += 257;
    distances += 1;
    if (lengths > MOST_LENGTHS || distances > MOST_DISTANCES)
        return wrong(gunzip, damaged);
    for (unsigned i = 0; i < codes + 4; i++) {
        if (!take(gunzip, 3, &value))
            return false;
        first[order[i]] = (uint8_t)value;
    }
    if (!make_code(&gunzip->lengths, first, LENGTH_CODES))
        return wrong(gunzip, damaged);
    /* The code of codes stands where that of lengths will be: it is needed no longer then. */
    if (!take_lengths(gunzip, &gunzip->lengths, bits, lengths + distances))
        return false;
    if (!bits[END_OF_BLOCK] || !make_code(&gunzip->lengths, bits, lengths) ||
        !make_code(&gunzip->distances, bits + lengths, distances))
        return wrong(gunzip, damaged);
    return true;
}

static bool begin_stored(struct gunzip *gunzip)
{
    uint32_t length, check;
    drop(gunzip, gunzip->bit_count % 8);
    if (!take(gunzip, 16, &length) || !take(gunzip, 16, &check))
        return false;
    if ((length ^ check) != 0xffff)
        return wrong(gunzip, damaged);
    gunzip->left_length = length;
    gunzip->state = GUNZIP_STORED;
    return true;
}

static bool begin_block(struct gunzip *gunzip)
{
    uint32_t last, kind;
    if (gunzip->last) {
        drop(gunzip, gunzip->bit_count % 8);
        gunzip->state = GUNZIP_TAIL;
        return true;
    }
    if (!take(gunzip, 1, &last) || !take(gunzip, 2, &kind))
        return false;
    gunzip->last = last;
    if (kind == 0)
        return begin_stored(gunzip);
    if (kind == 3)
        return wrong(gunzip, damaged);
    gunzip->state = GUNZIP_CODES;
    return kind == 1 ? fixed_codes(gunzip) : own_codes(gunzip);
}

static bool begin_copy(struct gunzip *gunzip, int symbol)
{
    uint32_t more_length, more_distance;
    symbol -= END_OF_BLOCK + 1;
    if (symbol >= 29)
        return wrong(gunzip, damaged);
    if (!take(gunzip, length_bits[symbol], &more_length))
        return false;
    int far = take_symbol(gunzip, &gunzip->distances);
    if (far < 0)
        return false;
    if (far >= MOST_DISTANCES)
        return wrong(gunzip, damaged);
    if (!take(gunzip, distance_bits[far], &more_distance))
        return false;
    size_t distance = distance_from[far] + more_distance;
    if (distance > gunzip->given)
        return wrong(gunzip, damaged);
    gunzip->left_length = length_from[symbol] + more_length;
    gunzip->left_distance = distance;
    return true;
}

/* ---- bytes that come out ---- */

static void give(struct gunzip *gunzip, unsigned char byte, unsigned char *out)
{
    gunzip->window[gunzip->given++ % GUNZIP_WINDOW] = byte;
    *out = byte;
}

static size_t give_copy(struct gunzip *gunzip, unsigned char *out, size_t count)
{
    size_t n = gunzip->left_length < count ? gunzip->left_length : count;
    for (size_t i = 0; i < n; i++) {
        uint64_t from = gunzip->given - gunzip->left_distance;
        give(gunzip, gunzip->window[from % GUNZIP_WINDOW], out + i);
    }
    gunzip->left_length -= n;
    return n;
}

static size_t give_stored(struct gunzip *gunzip, unsigned char *out, size_t count)
{
    size_t n = 0;
    uint32_t byte;
    for (; n < count && gunzip->left_length && take(gunzip, 8, &byte); n++) {
        give(gunzip, (unsigned char)byte, out + n);
        gunzip->left_length--;
    }
    if (!gunzip->left_length && gunzip->state == GUNZIP_STORED)
        gunzip->state = GUNZIP_BLOCK;
    return n;
}

static size_t give_codes(struct gunzip *gunzip, unsigned char *out, size_t count)
{
    size_t n = 0;
    while (n < count && gunzip->state == GUNZIP_CODES) {
        if (gunzip->left_length) {
            n += give_copy(gunzip, out + n, count - n);
            continue;
        }
        int symbol = take_symbol(gunzip, &gunzip->lengths);
        if (symbol < 0)
            break;
        if (symbol < END_OF_BLOCK)
            give(gunzip, (unsigned char)symbol, out + n++);
        else if (symbol == END_OF_BLOCK)
            gunzip->state = GUNZIP_BLOCK;
        else
            begin_copy(gunzip, symbol);
    }
    return n;
}

/* ---- around the blocks ---- */

static bool skip_text(struct gunzip *gunzip)
{
    uint32_t byte;
    do
        if (!take(gunzip, 8, &byte))
            return false;
    while (byte);
    return true;
}

static bool skip_extra(struct gunzip *gunzip)
{
    uint32_t count, byte;
    if (!take(gunzip, 16, &count))
        return false;
    while (count--)
        if (!take(gunzip, 8, &byte))
            return false;
    return true;
}

/* Behind its last member a file may be filled up with zeros. */
static bool ends_here(struct gunzip *gunzip)
{
    fill(gunzip);
    while (!gunzip->first && gunzip->bit_count && !(gunzip->bits & 0xff)) {
        drop(gunzip, 8);
        fill(gunzip);
    }
    return !gunzip->bit_count && !gunzip->first;
}

static bool begin_member(struct gunzip *gunzip)
{
    uint32_t magic, flags, skipped;
    if (ends_here(gunzip)) {
        gunzip->state = GUNZIP_END;
        return true;
    }
    if (!take(gunzip, 24, &magic))
        return false;
    if (magic != 0x088b1f)
        return wrong(gunzip, gunzip->first ? damaged : "something stands behind its gzip stream");
    gunzip->first = false;
    if (!take(gunzip, 8, &flags) || !take(gunzip, 32, &skipped) || !take(gunzip, 16, &skipped))
        return false;
    if ((flags & HEAD_FLAG_EXTRA && !skip_extra(gunzip)) ||
        (flags & HEAD_FLAG_NAME && !skip_text(gunzip)) ||
        (flags & HEAD_FLAG_COMMENT && !skip_text(gunzip)) ||
        (flags & HEAD_FLAG_CRC && !take(gunzip, 16, &skipped)))
        return false;
    gunzip->given = 0;
    gunzip->crc = 0;
    gunzip->last = false;
    gunzip->state = GUNZIP_BLOCK;
    return true;
}

static bool end_member(struct gunzip *gunzip)
{
    uint32_t crc, size;
    if (!take(gunzip, 32, &crc) || !take(gunzip, 32, &size))
        return false;
    if (crc != gunzip->crc || size != (uint32_t)gunzip->given)
        return wrong(gunzip, damaged);
    gunzip->state = GUNZIP_HEAD;
    return true;
}

/* The remainder of the polynomial of RFC 1952, a byte at a time. */
static uint32_t add_crc(uint32_t crc, const unsigned char *bytes, size_t count)
{
    static uint32_t table[256];
    for (uint32_t i = 0; !table[255] && i < 256; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++)
            value = value & 1 ? value >> 1 ^ UINT32_C(0xedb88320) : value >> 1;
        table[i] = value;
    }
    crc = ~crc;
    for (size_t i = 0; i < count; i++)
        crc = table[(crc ^ bytes[i]) & 0xff] ^ crc >> 8;
    return ~crc;
}

static size_t advance(struct gunzip *gunzip, unsigned char *out, size_t count)
{
    switch (gunzip->state) {
    case GUNZIP_HEAD:
        begin_member(gunzip);
        return 0;
    case GUNZIP_BLOCK:
        begin_block(gunzip);
        return 0;
    case GUNZIP_STORED:
        return give_stored(gunzip, out, count);
    case GUNZIP_CODES:
        return give_codes(gunzip, out, count);
    case GUNZIP_TAIL:
        end_member(gunzip);
        return 0;
    default:
        return 0;
    }
}

size_t gunzip_read(struct gunzip *gunzip, unsigned char *out, size_t count)
{
    size_t n = 0;
    while (n < count && gunzip->state < GUNZIP_END) {
        size_t more = advance(gunzip, out + n, count - n);
        gunzip->crc = add_crc(gunzip->crc, out + n, more);
        gunzip->whole += more;
        n += more;
        if (gunzip->whole > GUNZIP_BASE + GUNZIP_FACTOR * input_offset(&gunzip->packed))
            wrong(gunzip, "it is compressed by gzip and unpacks to more than 100 times its size");
    }
    return n;
}
