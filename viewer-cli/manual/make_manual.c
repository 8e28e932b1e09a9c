/*
 * make_manual DOCS OUT: writes OUT/man1/tidemark*.1 from the tables and DOCS/NAME.md, and the
 * completions, OUT/tidemark.bash and OUT/_tidemark. Run by the build. A command whose text is
 * missing gets a page of its tables alone; tests/manual says that it is missing.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "buf.h"
#include "commands.h"
#include "complete.h"
#include "error.h"
#include "page.h"

static bool say(const char *path, const char *what)
{
    fprintf(stderr, "make_manual: %s: %s\n", path, what);
    return false;
}

static bool read_all(const char *path, struct buf *text)
{
    char part[4096];
    size_t n;
    FILE *in = fopen(path, "r");
    if (!in)
        return false;
    while ((n = fread(part, 1, sizeof part, in)) > 0)
        buf_add(text, part, n);
    bool fine = !ferror(in);
    fclose(in);
    return fine && !text->broken;
}

static bool write_all(const char *path, const struct buf *text)
{
    FILE *out = text->broken ? NULL : fopen(path, "w");
    if (!out)
        return say(path, text->broken ? base_err_text(ERR_NOMEM) : strerror(errno));
    fputs(buf_string(text), out);
    bool fine = !ferror(out);
    if (fclose(out) != 0 || !fine)
        return say(path, strerror(errno));
    return true;
}

/* command: NULL for the page that lists them. */
static bool make_page(const char *docs, const char *out, const struct command *command)
{
    struct buf from = {0}, to = {0}, text = {0}, page = {0}, message = {0};
    struct prose prose;
    const char *name = command ? command->name : "tidemark";
    buf_print(&from, "%s/%s.md", docs, name);
    buf_print(&to, "%s/man1/%s%s.1", out, command ? "tidemark-" : "", name);
    bool fine = !from.broken && !to.broken;
    bool kept = fine && read_all(buf_string(&from), &text);
    if (fine && !kept && errno != ENOENT)
        fine = say(buf_string(&from), strerror(errno));
    if (kept)
        fine = prose_split(&prose, buf_string(&from), buf_string(&text), &message);
    if (fine)
        fine = command ? page_command(&page, command, kept ? &prose : NULL, &message)
                       : page_overview(&page, kept ? &prose : NULL, &message);
    if (message.count)
        fprintf(stderr, "%s\n", buf_string(&message));
    fine = fine && write_all(buf_string(&to), &page);
    buf_clear(&from);
    buf_clear(&to);
    buf_clear(&text);
    buf_clear(&page);
    buf_clear(&message);
    return fine;
}

static bool make_completion(const char *out, const char *name, void (*complete)(struct buf *))
{
    struct buf path = {0}, text = {0};
    buf_print(&path, "%s/%s", out, name);
    complete(&text);
    bool fine = !path.broken && write_all(buf_string(&path), &text);
    buf_clear(&path);
    buf_clear(&text);
    return fine;
}

static bool make_folder(const char *out, const char *name)
{
    struct buf path = {0};
    buf_print(&path, "%s%s", out, name);
    bool fine = mkdir(buf_string(&path), 0777) == 0 || errno == EEXIST;
    if (!fine)
        say(buf_string(&path), strerror(errno));
    buf_clear(&path);
    return fine;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fputs("usage: make_manual DOCS OUT\n", stderr);
        return EXIT_USAGE;
    }
    bool fine = make_folder(argv[2], "") && make_folder(argv[2], "/man1") &&
                make_page(argv[1], argv[2], NULL);
    for (const struct command *const *at = commands; fine && *at; at++)
        fine = make_page(argv[1], argv[2], *at);
    fine = fine && make_completion(argv[2], "tidemark.bash", complete_bash) &&
           make_completion(argv[2], "_tidemark", complete_zsh);
    return fine ? EXIT_FINE : EXIT_INPUT;
}
