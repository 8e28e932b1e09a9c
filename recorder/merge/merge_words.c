/*
 * merge_words.c - are two command lines those of one job?
 *
 * What launchers and nodes change is left out or made alike, by what it is, never by a part of its
 * name: `--node-rank 1` is a node's, `--lora-rank 8` the job's.
 *
 * - Options that tell a process its number, if their value is a number: `own_numbers`. `--rank`
 *   is an option of LoRA's programs as well: it counts only with a rank of that recording.
 * - Options that name a machine, whatever their value: `own_places`.
 * - The name of the recording's own host, in any word.
 * - Where the program and its interpreter lie; and files of one name in folders that every node
 *   has for itself: `own_folders`.
 *
 * Options are written with _ or -, with = or as two words, with the sections of a configuration
 * before them (`trainer.node_rank=1`), or as variables (`SLURM_PROCID=3`).
 */
#include <ctype.h>
#include <string.h>

#include "buf.h"
#include "error.h"
#include "mem.h"
#include "merge_types.h"

static const char *const own_numbers[] = {
    "node-rank",    "local-rank",    "global-rank", "machine-rank", "group-rank",   "world-rank",
    "process-rank", "role-rank",     "host-rank",   "node-id",      "nodeid",       "procid",
    "proc-id",      "process-id",    "localid",     "local-id",     "slurm-procid", "pmi-rank",
    "slurm-nodeid", "slurm-localid", "pmix-rank",   "node-index",   "process-index"};

static const char *const own_openmpi[] = {"ompi-comm-world-rank", "ompi-comm-world-local-rank",
                                          "ompi-comm-world-node-rank"};

static const char *const own_places[] = {
    "master-addr",   "master-address",       "master-port", "main-process-ip", "main-process-port",
    "rdzv-endpoint", "coordinator-address",  "local-addr",  "local-address",   "init-method",
    "dist-url",      "slurmd-nodename",      "node-name",   "nodename",        "hostname",
    "head-node-ip",  "distributed-init-url", "rdzv-conf"};

static const char *const own_folders[] = {
    "/tmp/",      "/var/tmp/",     "/dev/shm/",      "/run/",      "/scratch/", "/local/",
    "/lscratch/", "/localscratch", "/local_scratch", "/mnt/local", "/mnt/nvme", "/raid/"};

#define IS_IN(name, list) is_in(name, list, sizeof(list) / sizeof *(list))

static bool is_in(const char *name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, list[i]) == 0)
            return true;
    return false;
}

/* ---- words ---- */

struct words { /* a command line as a program gets it: each with its 0 */
    const struct merge_input *input;
    struct buf text;
    bool cut; /* the recorder had no room for the rest, the last word may be cut, too */
};

static void split(struct words *words, const char *line)
{
    bool quoted = false, any = false;
    for (; *line; line++) {
        if (*line == '\'') {
            quoted = !quoted;
            any = true;
        } else if (*line == ' ' && !quoted) {
            if (any)
                buf_add(&words->text, "", 1);
            any = false;
        } else {
            line += *line == '\\' && !quoted && line[1];
            buf_add(&words->text, line, 1);
            any = true;
        }
    }
    if (any)
        buf_add(&words->text, "", 1);
    size_t end = words->text.count;
    words->cut = end > 4 && memcmp(words->text.data + end - 5, "\0...", 5) == 0;
}

/* The word behind one; NULL: none. */
static const char *next_word(const struct words *words, const char *word)
{
    const char *next = word ? word + strlen(word) + 1 : buf_string(&words->text);
    return next < buf_string(&words->text) + words->text.count ? next : NULL;
}

/* ---- words that are of a node, or of a rank ---- */

/* "--Trainer.node_rank=1": "node-rank". False: it is no option and no variable. */
static bool name_of(const char *word, char name[64])
{
    size_t bytes = strcspn(word, "="), count = 0;
    if (*word != '-' && word[bytes] != '=')
        return false;
    for (size_t i = bytes; i > 0; i--)
        if (word[i - 1] == '.') {
            word += i;
            bytes -= i;
            break;
        }
    while (bytes && (*word == '-' || *word == '+')) {
        word++;
        bytes--;
    }
    for (; count < bytes && count < 63; count++)
        name[count] = word[count] == '_' ? '-' : (char)tolower((unsigned char)word[count]);
    name[count] = '\0';
    return count == bytes && count > 0;
}

/* -1: it is none. */
static int64_t number_of(const char *text)
{
    int64_t number = 0;
    size_t count = strspn(text, "0123456789");
    if (!count || count > 9 || text[count])
        return -1;
    for (; *text; text++)
        number = number * 10 + (*text - '0');
    return number;
}

static bool has_rank(const struct merge_input *input, int64_t rank)
{
    for (size_t i = 0; i < input->rank_count; i++)
        if (input->ranks[i] == rank)
            return true;
    return false;
}

static bool is_own(const struct merge_input *input, const char *name, const char *value)
{
    int64_t number = number_of(value);
    if (IS_IN(name, own_places))
        return true;
    if (number < 0)
        return false;
    return IS_IN(name, own_numbers) || IS_IN(name, own_openmpi) ||
           (strcmp(name, "rank") == 0 && has_rank(input, number));
}

/* Steps over words that are a node's own; NULL behind the last one. */
static const char *skip_own(const struct words *words, const char *word)
{
    char name[64];
    while (word && name_of(word, name)) {
        const char *equals = strchr(word, '='), *value = equals ? NULL : next_word(words, word);
        if (equals && is_own(words->input, name, equals + 1))
            word = next_word(words, word);
        else if (value && is_own(words->input, name, value))
            word = next_word(words, value);
        else
            break;
    }
    return word;
}

/* ---- one word beside another ---- */

static bool is_edge(char c)
{
    return !isalnum((unsigned char)c) && c != '-';
}

/* The word with the host's name, which may stand without its domain, as a 1. */
static void put_neutral(struct buf *out, const char *word, const char *host, size_t bytes)
{
    for (const char *at = word; *at; at++) {
        bool here = bytes && strncmp(at, host, bytes) == 0 && (at == word || is_edge(at[-1])) &&
                    (!at[bytes] || is_edge(at[bytes]));
        buf_add(out, here ? "\1" : at, 1);
        at += here ? bytes - 1 : 0;
    }
}

static void put_without_host(struct buf *out, const char *word, const char *host)
{
    struct buf whole = {0};
    host = host ? host : "";
    put_neutral(&whole, word, host, strlen(host));
    put_neutral(out, buf_string(&whole), host, strcspn(host, "."));
    out->broken |= whole.broken;
    buf_clear(&whole);
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_node_local(const char *path)
{
    for (size_t i = 0; i < sizeof own_folders / sizeof *own_folders; i++)
        if (strncmp(path, own_folders[i], strlen(own_folders[i])) == 0)
            return true;
    return false;
}

/* The first word, and scripts and interpreters behind it. */
static bool is_program(const char *word, bool first)
{
    const char *base = base_of(word), *dot = strrchr(base, '.');
    return first || strncmp(base, "python", 6) == 0 ||
           (dot && (strcmp(dot, ".py") == 0 || strcmp(dot, ".sh") == 0));
}

static bool is_same_file(const char *a, const char *b, bool program)
{
    return *a == '/' && *b == '/' && strcmp(base_of(a), base_of(b)) == 0 &&
           (program || (is_node_local(a) && is_node_local(b)));
}

static bool is_same_word(const struct words sides[2], const char *a, const char *b, bool program,
                         int *err)
{
    struct buf texts[2] = {{0}, {0}};
    put_without_host(&texts[0], a, sides[0].input->host);
    put_without_host(&texts[1], b, sides[1].input->host);
    if (texts[0].broken || texts[1].broken)
        *err = ERR_NOMEM;
    bool same = strcmp(buf_string(&texts[0]), buf_string(&texts[1])) == 0;
    buf_clear(&texts[0]);
    buf_clear(&texts[1]);
    size_t key = strcspn(a, "=");
    bool pair = a[key] && strncmp(a, b, key + 1) == 0;
    return same || is_same_file(pair ? a + key + 1 : a, pair ? b + key + 1 : b, program && !pair);
}

/* ---- all of them ---- */

/* Where both have been cut, what is there has to agree. */
static bool is_end(const struct words sides[2], const char *a, const char *b)
{
    const char *const at[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        if (!sides[i].cut || !at[i])
            continue;
        const char *next = next_word(&sides[i], at[i]);
        if (!next || !next_word(&sides[i], next))
            return true;
    }
    return !a && !b;
}

static void show(struct buf *out, const char *word)
{
    if (word)
        buf_print(out, "'%.80s'", word);
    else
        buf_text(out, "nothing more");
}

/* The first words that say that it is another job. */
static int find_other(const struct words sides[2], struct buf *a_word, struct buf *b_word)
{
    int err = 0;
    const char *a = skip_own(&sides[0], next_word(&sides[0], NULL));
    const char *b = skip_own(&sides[1], next_word(&sides[1], NULL));
    for (bool first = true; !is_end(sides, a, b) && err == 0; first = false) {
        bool program = a && is_program(a, first);
        if (!a || !b || !is_same_word(sides, a, b, program, &err)) {
            show(a_word, a);
            show(b_word, b);
            break;
        }
        a = skip_own(&sides[0], next_word(&sides[0], a));
        b = skip_own(&sides[1], next_word(&sides[1], b));
    }
    return err == 0 && (a_word->broken || b_word->broken) ? ERR_NOMEM : err;
}

int merge_other_word(const struct merge_input *a, const struct merge_input *b, struct buf *a_word,
                     struct buf *b_word)
{
    struct words sides[2] = {{.input = a}, {.input = b}};
    split(&sides[0], a->argv);
    split(&sides[1], b->argv);
    int err = sides[0].text.broken || sides[1].text.broken ? ERR_NOMEM
                                                           : find_other(sides, a_word, b_word);
    buf_clear(&sides[0].text);
    buf_clear(&sides[1].text);
    return err;
}
