#include "foreign.h"

#include <string.h>

static const struct magic {
    const char *bytes;
    size_t count;
    const char *what;
} magics[] = {
    {"SQLite format 3\0", 16, "an SQLite database of another program"},
    {"\x37\x7f\x06\x82", 4, "the log (-wal) of an SQLite database, not the database"},
    {"\x37\x7f\x06\x83", 4, "the log (-wal) of an SQLite database, not the database"},
    {"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 8, "the journal of an SQLite database, not the database"},
    {"\x1f\x8b", 2, "compressed by gzip"},
    {"\x28\xb5\x2f\xfd", 4, "compressed by zstd"},
    {"\xfd"
     "7zXZ\0",
     6, "compressed by xz"},
    {"BZh", 3, "compressed by bzip2"},
    {"PK\x03\x04", 4, "a zip archive, as torch.save makes them"},
    {"\x89HDF\r\n\x1a\n", 8, "an HDF5 file"},
    {"\x7f"
     "ELF",
     4, "a program or a library"},
    {"%PDF-", 5, "a PDF document"},
    {"\x89PNG", 4, "a picture"},
    {"#!", 2, "a script"},
};

bool foreign_is_sqlite(const unsigned char *head, size_t count)
{
    return count >= 16 && memcmp(head, "SQLite format 3", 16) == 0;
}

/* Protocols 2 to 5 begin with the opcode PROTO and their number; from 4 on a FRAME follows. */
static bool is_pickle(const unsigned char *head, size_t count)
{
    return count >= 3 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5;
}

/* Bytes that a text has, UTF-8 beyond ASCII included. */
static bool is_text(const unsigned char *head, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        unsigned char c = head[i];
        if (c == 0x7f || (c < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\f'))
            return false;
        if (c == 0xc0 || c == 0xc1 || c > 0xf4)
            return false;
    }
    return true;
}

static bool is_all_zero(const unsigned char *head, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (head[i])
            return false;
    return true;
}

static const char unknown[] = "a file of a kind that Tidemark does not know";
static const char zeros[] = "filled with zeros";

const char *foreign_describe(const unsigned char *head, size_t count)
{
    if (count == 0)
        return "empty";
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
        if (count >= magics[i].count && memcmp(head, magics[i].bytes, magics[i].count) == 0)
            return magics[i].what;
    if (is_pickle(head, count))
        return "a Python pickle, as PyTorch's memory snapshots are";
    if (is_all_zero(head, count))
        return zeros;
    if (is_text(head, count)) {
        size_t i = 0;
        while (i < count && (head[i] == ' ' || head[i] == '\t' || head[i] == '\n'))
            i++;
        return i < count && (head[i] == '{' || head[i] == '[') ? "JSON text" : "text";
    }
    return unknown;
}

bool foreign_is_nameless(const unsigned char *head, size_t count)
{
    const char *what = foreign_describe(head, count);
    return what == unknown || what == zeros;
}
