#include "commit.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LINE = PATH_MAX + 64, /* more than any name of a ref, and than a path */
    LINKS = 5,            /* a ref that names another one, so many times */
    SHOWN = 100           /* of what the environment says */
};

/* ---- small files ---- */

/* Regular files only: a pipe in the place of one would have no end. */
static FILE *open_file(const char *folder, const char *name)
{
    char path[LINE];
    struct stat info;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path)
        return NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return NULL;
    FILE *file = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? fdopen(fd, "r") : NULL;
    if (!file)
        close(fd);
    return file;
}

static bool take_line(FILE *file, char line[LINE])
{
    if (!fgets(line, LINE, file))
        return false;
    line[strcspn(line, "\r\n")] = '\0';
    return true;
}

static bool first_line(const char *folder, const char *name, char line[LINE])
{
    FILE *file = open_file(folder, name);
    bool found = file && take_line(file, line);
    if (file)
        fclose(file);
    return found;
}

/* ---- refs ---- */

/* SHA-1 or SHA-256. */
static bool is_hash(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (!isxdigit((unsigned char)text[i]))
            return false;
    return bytes == 40 || bytes == 64;
}

static bool is_ref(const char *name)
{
    return strncmp(name, "refs/", 5) == 0 && !strstr(name, "..");
}

/* "HASH NAME", a line for each; those that begin with # or ^ are about others. */
static bool find_packed(const char *common, const char *ref, char line[LINE])
{
    FILE *file = open_file(common, "packed-refs");
    bool found = false;
    while (file && !found && take_line(file, line)) {
        size_t bytes = strcspn(line, " ");
        found = line[bytes] && is_hash(line, bytes) && strcmp(line + bytes + 1, ref) == 0;
        line[found ? bytes : 0] = '\0';
    }
    if (file)
        fclose(file);
    return found;
}

/* Refs of a worktree are in its own folder, all others where its repository has them. */
static bool read_head(const char *own, const char *common, struct buf *out)
{
    char ref[LINE] = "HEAD", line[LINE];
    for (int i = 0; i < LINKS; i++) {
        if (!first_line(own, ref, line) && !first_line(common, ref, line) &&
            !find_packed(common, ref, line))
            return false;
        if (is_hash(line, strlen(line))) {
            buf_text(out, line);
            return !out->broken;
        }
        const char *name = strncmp(line, "ref:", 4) == 0 ? line + 4 + strspn(line + 4, " \t") : "";
        if (!is_ref(name))
            return false;
        memmove(ref, name, strlen(name) + 1);
    }
    return false;
}

/* ---- repositories ---- */

static bool join_path(char out[LINE], const char *folder, const char *path)
{
    int n =
        *path == '/' ? snprintf(out, LINE, "%s", path) : snprintf(out, LINE, "%s/%s", folder, path);
    return n > 0 && n < LINE;
}

/* The folder that a .git is, or that it names. */
static bool find_git(const char *folder, char git[LINE])
{
    char line[LINE], dot[LINE];
    struct stat info;
    if (!join_path(dot, folder, ".git") || stat(dot, &info) < 0)
        return false;
    if (S_ISDIR(info.st_mode))
        return join_path(git, folder, ".git");
    return first_line(folder, ".git", line) && strncmp(line, "gitdir: ", 8) == 0 &&
           join_path(git, folder, line + 8);
}

bool commit_of_folder(const char *folder, struct buf *out)
{
    char at[PATH_MAX], git[LINE], common[LINE], line[LINE];
    if (!realpath(folder, at))
        return false;
    while (!find_git(at, git)) {
        char *slash = strrchr(at, '/');
        if (!slash || slash == at)
            return false;
        *slash = '\0';
    }
    if (!first_line(git, "commondir", line) || !join_path(common, git, line))
        memcpy(common, git, sizeof common);
    return read_head(git, common, out);
}

/* ---- the program's ---- */

static bool is_plain(const char *text)
{
    for (; *text; text++)
        if (!isgraph((unsigned char)*text))
            return false;
    return true;
}

static bool is_file(const char *folder, const char *path)
{
    char whole[LINE];
    struct stat info;
    return join_path(whole, folder, path) && stat(whole, &info) == 0 && S_ISREG(info.st_mode);
}

static bool of_file(const char *folder, const char *path, struct buf *out)
{
    char whole[LINE], at[PATH_MAX];
    if (!join_path(whole, folder, path) || !realpath(whole, at))
        return false;
    *strrchr(at, '/') = '\0';
    return commit_of_folder(*at ? at : "/", out);
}

/* What runs the program, whose own repository says nothing of it: pyenv's Python is in one. */
static bool is_python(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strncmp(slash ? slash + 1 : path, "python", 6) == 0;
}

static bool of_script(const char *folder, const char *const *argv, struct buf *out)
{
    for (size_t i = 1; argv[0] && argv[i]; i++)
        if (is_file(folder, argv[i]))
            return of_file(folder, argv[i], out);
    return false;
}

bool commit_find(const char *folder, const char *const *argv, struct buf *out)
{
    static const char *const names[] = {"TIDEMARK_COMMIT", "GITHUB_SHA", "CI_COMMIT_SHA"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (!value || (i > 0 && !*value))
            continue;
        if (!*value)
            return false;
        if (strlen(value) <= SHOWN && is_plain(value)) {
            buf_text(out, value);
            return !out->broken;
        }
    }
    return of_script(folder, argv, out) || commit_of_folder(folder, out) ||
           (argv[0] && strchr(argv[0], '/') && !is_python(argv[0]) &&
            of_file(folder, argv[0], out));
}
