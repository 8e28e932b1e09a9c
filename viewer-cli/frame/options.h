/*
 * options.h - command lines as tables. A command describes its options once; parsing, --help,
 * hints, man pages and completion all come from the same array.
 *
 * An option writes to `at` bytes behind the start of the command's own struct:
 *
 *     OPT_FLAG    bool                    OPT_TEXT    const char * (into argv)
 *     OPT_INT     int64_t                 OPT_CHOICE  int, index into choices
 *     OPT_SIZE    int64_t, bytes          OPT_RANGE   struct option_range
 *     OPT_TEXTS   struct option_texts     OPT_FILE    const char *, a file or a folder
 *                                         OPT_DATABASE  const char *
 *
 * What was not given keeps its value. An array ends with an option without a name. Options may
 * stand between arguments; "--" ends them; an option given twice takes the later value, but for
 * OPT_TEXTS, which keeps all of them.
 */
#ifndef TIDEMARK_VIEWER_OPTIONS_H
#define TIDEMARK_VIEWER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_kind {
    OPT_FLAG,
    OPT_INT,
    OPT_SIZE,
    OPT_TEXT,
    OPT_CHOICE,
    OPT_RANGE,
    OPT_TEXTS,
    OPT_FILE,
    OPT_DATABASE
};

struct option {
    const char *name; /* without its dashes */
    char letter;      /* short form, 0 = none */
    enum option_kind kind;
    size_t at;
    const char *value;          /* what --help calls the value; NULL for a flag */
    const char *help;           /* lines of 50 letters or so, without a full stop */
    const char *const *choices; /* OPT_CHOICE; OPT_TEXT: some of what it can be; ends with NULL */
    int64_t least;              /* OPT_INT, OPT_RANGE: smallest value that makes sense */
};

struct option_range { /* first <= last, both included; all INT64_MIN..INT64_MAX at first */
    int64_t first;
    int64_t last;
};
#define OPTION_RANGE_ALL                                                                           \
    (struct option_range)                                                                          \
    {                                                                                              \
        INT64_MIN, INT64_MAX                                                                       \
    }

#define OPTION_TEXTS_MOST 16
struct option_texts { /* in the order of the command line, into argv */
    const char *texts[OPTION_TEXTS_MOST];
    size_t count;
};

#define OPTIONS_TABLES 2

struct options_parse {
    const struct option *tables[OPTIONS_TABLES]; /* searched in order; NULL = none */
    void *target;
    bool first_argument_ends; /* what follows the first argument belongs to another program */
    bool plain;               /* messages name options without their dashes */
    char **arguments;         /* room for argc; filled with what is no option */
    int argument_count;
    bool help; /* --help or -h was given: nothing else was checked behind it */
    char message[320];
};

/* Parses argv[0..argc), without the command's name. 0 or ERR_ARG with parse->message, which names
 * the mistake and what would be right. */
int options_parse(struct options_parse *parse, int argc, char **argv);

/* One value, as the command line would set it; NULL for a flag. Returns the same. */
int options_set(struct options_parse *parse, const struct option *option, const char *text);

/* Single values; false if the text is none. */
bool option_read_int(const char *text, int64_t *value);
bool option_read_size(const char *text, int64_t *value); /* 24GiB, 512M, 1.5g, 4096; MB = 10^6 */
bool option_read_range(const char *text, struct option_range *value);

#endif
