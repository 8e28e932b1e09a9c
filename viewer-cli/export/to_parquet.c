/*
 * to_parquet.c - the one format that is not written here: the Python package does it, with Arrow's
 * own writer. This process becomes its interpreter, so signals and the exit status are as of any
 * command.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "export.h"
#include "guest_path.h"
#include "log.h"
#include "mem.h"
#include "newest.h"

/* The folder of the package goes behind what the interpreter has: one that was installed comes
 * first. As a path in the environment it would bring its sitecustomize along. The current folder,
 * which `-c` puts first, is anybody's: nothing is imported from there. */
static const char program[] = "import sys\n"
                              "sys.path[:] = [path for path in sys.path if path]\n"
                              "import runpy\n"
                              "sys.path.append(sys.argv.pop(1))\n"
                              "runpy.run_module('tidemark.parquet', run_name='__main__',"
                              " alter_sys=True)\n";

static void find_package(char *folder, size_t size)
{
    char guest[PATH_MAX];
    if (guest_path_find(guest, sizeof guest) != 0 || guest_path_python(guest, folder, size) != 0)
        snprintf(folder, size, "%s", "");
}

static int start(const char *const *words)
{
    const char *python = words[0];
    char *arguments[16];
    size_t count = 0;
    for (; words[count]; count++)
        arguments[count] = (char *)(uintptr_t)words[count];
    arguments[count] = NULL;
    execvp(python, arguments);
    log_say(LOG_ERROR,
            "cannot run %s: %s; --to parquet needs Python, and in it pip install "
            "'tidemark[parquet]'",
            python, strerror(errno));
    return EXIT_INPUT;
}

int export_parquet(const struct export_parquet *wanted)
{
    char folder[PATH_MAX];
    char *newest = NULL;
    const char *named = getenv("TIDEMARK_PYTHON3"), *path = wanted->database;
    if (!path && newest_recording(".", &newest) == 0)
        path = newest;
    if (!path) {
        log_say(LOG_ERROR, "no database is named, and no tidemark.*.db is here");
        return EXIT_INPUT;
    }
    find_package(folder, sizeof folder);
    const char *words[16] = {named && *named ? named : "python3", "-c", program, folder};
    size_t count = 4;
    if (wanted->run) {
        words[count++] = "--run";
        words[count++] = wanted->run;
    }
    if (wanted->commit) {
        words[count++] = "--commit";
        words[count++] = wanted->commit;
    }
    words[count++] = "--";
    words[count++] = path;
    words[count++] = wanted->folder;
    int code = start(words);
    mem_free(newest);
    return code;
}
