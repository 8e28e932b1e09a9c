#include "import.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "format.h"

/* No two say yes to the same bytes. What none knows goes to the first, whose reader says why not.
 * Of a file that is packed by gzip the unpacked bytes are asked. */
#define FORMAT(name, plain, about, example, note) &format_##name,
static const struct import_format *const formats[] = {
#include "formats.def"
};
#undef FORMAT

int import_say(struct import_result *result, int err, const char *text)
{
    snprintf(result->message, sizeof result->message, "%s", text);
    return err;
}

static const struct import_format *format_of(struct pickle_input *input)
{
    size_t count;
    const unsigned char *first = input_look(input, FORMAT_LOOK_BYTES, &count);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i]->is(first, count))
            return formats[i];
    return formats[0];
}

static int read_all(struct pickle_input *input, const struct import_options *options,
                    struct import_result *result)
{
    int err = input_unpack(input);
    if (err) {
        input_close(input);
        return import_say(result, err, base_err_text(err));
    }
    const struct import_format *format = format_of(input);
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
