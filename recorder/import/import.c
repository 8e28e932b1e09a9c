#include "import.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "format.h"

/* The first that says yes reads them: traces say it of all JSON. What none knows, and none is near
 * to, goes to the first, whose reader says why not. Of a file that is packed by gzip the unpacked
 * bytes are asked. */
#define FORMAT(name, plain, about, example, note) &format_##name,
static const struct import_format *const formats[] = {
#include "formats.def"
};
#undef FORMAT
#define FORMATS (sizeof formats / sizeof *formats)

/* Each behind a comma and a blank. */
#define FORMAT(name, plain, about, example, note) ", " plain
static const char all_formats[] =
#include "formats.def"
    ;
#undef FORMAT

int import_say(struct import_result *result, int err, const char *text)
{
    snprintf(result->message, sizeof result->message, "%s", text);
    return err;
}

/* Characters and ends of lines alone; JSON's beginning and a byte are somebody else's to explain.
 */
static bool is_text(const unsigned char *first, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (first[i] == 0x7f || (first[i] < ' ' && !strchr("\t\n\f\r\033", first[i])) || !first[i])
            return false;
    return count > 1 && first[0] != '{' && first[0] != '[' && first[0] < 0x80;
}

/* How files of the formats that are text begin. */
static void say_text(struct import_result *result)
{
    size_t used = (size_t)snprintf(result->message, sizeof result->message,
                                   "the file is a text, and no %s", all_formats + 2);
    for (size_t i = 0, said = 0; i < FORMATS && used < sizeof result->message; i++)
        if (formats[i]->begins)
            used += (size_t)snprintf(result->message + used, sizeof result->message - used, "%s%s",
                                     said++ ? "; " : ": ", formats[i]->begins);
}

/* NULL after a message: it is of none. */
static const struct import_format *format_of(struct pickle_input *input,
                                             struct import_result *result)
{
    size_t count;
    const unsigned char *first = input_look(input, FORMAT_LOOK_BYTES, &count);
    const char *near = NULL;
    for (size_t i = 0; i < FORMATS; i++)
        if (formats[i]->is(first, count))
            return formats[i];
    for (size_t i = 0; i < FORMATS && !near && count; i++)
        near = formats[i]->near ? formats[i]->near(first, count) : NULL;
    if (near)
        import_say(result, ERR_NOTOURS, near);
    else if (is_text(first, count))
        say_text(result);
    return *result->message ? NULL : formats[0];
}

static int read_all(struct pickle_input *input, const struct import_options *options,
                    struct import_result *result)
{
    int err = input_unpack(input);
    if (err) {
        input_close(input);
        return import_say(result, err, base_err_text(err));
    }
    const struct import_format *format = format_of(input, result);
    if (!format) {
        input_close(input);
        return ERR_NOTOURS;
    }
    result->format = format->name;
    result->lacks = format->lacks;
    err = format->read(input, options, result);
    input_close(input);
    return err;
}

int import_file(const char *path, const struct import_options *options,
                struct import_result *result)
{
    struct pickle_input input;
    *result = (struct import_result){0};
    int err = input_open(&input, path);
    if (err)
        return import_say(result, err, strerror(errno));
    return read_all(&input, options, result);
}

int import_bytes(const void *bytes, size_t count, const struct import_options *options,
                 struct import_result *result)
{
    struct pickle_input input;
    *result = (struct import_result){0};
    input_memory(&input, bytes, count);
    return read_all(&input, options, result);
}
