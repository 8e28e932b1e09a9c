#include "diff_renamed.h"

#include <string.h>

#include "buf.h"
#include "error.h"
#include "mem.h"
#include "query.h"

/* The first word of a command that is a Python file, without its folders; its length. */
static size_t find_script(const char *argv, const char **out)
{
    static const char ending[] = ".py";
    size_t n;
    for (const char *word = argv; *word; word += n + strspn(word + n, " ")) {
        n = strcspn(word, " ");
        size_t at = n;
        while (at > 0 && word[at - 1] != '/')
            at--;
        *out = word + at;
        if (n - at >= sizeof ending && memcmp(word + n - 3, ending, 3) == 0)
            return n - at;
    }
    return 0;
}

static int read_script(struct diff_side *side, char **name)
{
    const char *found;
    char *argv = NULL;
    int err = query_read(side->db, "SELECT argv FROM process WHERE id = ?1", Q_IN(side->process),
                         Q_OUT(Q_COPY(argv)));
    size_t n = err >= 0 && argv ? find_script(argv, &found) : 0;
    if (n && !(*name = mem_copy(found, n)))
        err = ERR_NOMEM;
    mem_free(argv);
    side->err = err;
    return err;
}

#define IN_FILE                                                                                    \
    " FROM frame f JOIN string s ON s.id = f.file JOIN string fn ON fn.id = f.function"            \
    " WHERE (s.text = ?1 OR substr(s.text, -length(?1) - 1) = '/' || ?1)"

/* Functions of that file with call sites, or one of them; code outside of functions is one. */
static int count_functions(struct diff_side *side, const char *file, const char *only,
                           int64_t *count)
{
    return side->err = query_read(side->db,
                                  "SELECT count(DISTINCT fn.text) AS count" IN_FILE
                                  " AND fn.text = coalesce(?2, fn.text)",
                                  Q_IN(file, only), Q_OUT(Q_INT(*count)));
}

/* A library has a file of the script's name, as torch has rnn.py: call sites show names alone. */
static int is_ambiguous(struct diff_side *side, const char *file, bool *ambiguous)
{
    return side->err =
               query_read(side->db, "SELECT count(DISTINCT s.text) > 1 AS ambiguous" IN_FILE,
                          Q_IN(file), Q_OUT(Q_INT(*ambiguous)));
}

/* Of A's functions, how many B's script has, too. */
static int count_common(struct diff_side sides[DIFF_SIDES], char *const names[DIFF_SIDES],
                        int64_t *common)
{
    const char *text;
    int64_t has;
    *common = 0;
    struct query query = query_ask(sides[DIFF_A].db, "SELECT DISTINCT fn.text AS text" IN_FILE,
                                   Q_IN((const char *)names[DIFF_A]), Q_OUT(Q_TEXT(text)));
    while (query_next(&query)) {
        query_fail(&query, count_functions(&sides[DIFF_B], names[DIFF_B], text, &has));
        *common += has > 0;
    }
    return query_end(&query);
}

/* Each has its own script and not the other's, and most functions of the smaller one are in both.
 */
static int are_one(struct diff_side sides[DIFF_SIDES], char *const names[DIFF_SIDES], bool *one)
{
    int64_t functions[DIFF_SIDES][DIFF_SIDES], common; /* of a side in the script of a side */
    bool ambiguous = false;
    int err = 0;
    for (int side = 0; side < DIFF_SIDES && err >= 0 && !ambiguous; side++)
        err = is_ambiguous(&sides[side], names[side], &ambiguous);
    if (err < 0 || ambiguous)
        return err;
    for (int side = 0; side < DIFF_SIDES && err >= 0; side++)
        for (int of = 0; of < DIFF_SIDES && err >= 0; of++)
            err = count_functions(&sides[side], names[of], NULL, &functions[side][of]);
    if (err >= 0)
        err = count_common(sides, names, &common);
    if (err < 0)
        return err;
    int64_t a = functions[DIFF_A][DIFF_A], b = functions[DIFF_B][DIFF_B];
    bool own = functions[DIFF_A][DIFF_B] == 0 && functions[DIFF_B][DIFF_A] == 0;
    *one = own && common > 0 && 2 * common > (a < b ? a : b);
    return 0;
}

int diff_find_renamed(struct diff_side sides[DIFF_SIDES], char *names[DIFF_SIDES])
{
    bool one = false;
    names[DIFF_A] = names[DIFF_B] = NULL;
    int err = read_script(&sides[DIFF_A], &names[DIFF_A]);
    if (err >= 0)
        err = read_script(&sides[DIFF_B], &names[DIFF_B]);
    bool both = names[DIFF_A] && names[DIFF_B];
    if (err >= 0 && both && strcmp(names[DIFF_A], names[DIFF_B]) != 0)
        err = are_one(sides, names, &one);
    for (int side = 0; side < DIFF_SIDES && !one; side++) {
        mem_free(names[side]);
        names[side] = NULL;
    }
    return err < 0 ? err : 0;
}

bool diff_rename(char *const names[DIFF_SIDES], char **text)
{
    struct buf pattern = {0}, out = {0};
    const char *rest = *text, *at;
    buf_print(&pattern, "(%s)", names[DIFF_B]);
    while (!pattern.broken && (at = strstr(rest, buf_string(&pattern)))) {
        buf_print(&out, "%.*s(%s)", (int)(at - rest), rest, names[DIFF_A]);
        rest = at + pattern.count;
    }
    buf_text(&out, rest);
    bool made = !pattern.broken && !out.broken;
    char *renamed = made ? mem_copy(buf_string(&out), out.count) : NULL;
    if (renamed) {
        mem_free(*text);
        *text = renamed;
    }
    buf_clear(&pattern);
    buf_clear(&out);
    return renamed != NULL;
}
