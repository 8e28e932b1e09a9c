/* folder.c - where drivers put files. */
#include <dirent.h>
#include <unistd.h>

#include "fuzz.h"

static char folder[64];

static void remove_folder(void)
{
    DIR *files = opendir(folder);
    for (struct dirent *entry; files && (entry = readdir(files));) {
        char path[sizeof folder + sizeof entry->d_name + 1];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        unlink(path);
    }
    if (files)
        closedir(files);
    rmdir(folder);
}

const char *fuzz_folder(void)
{
    static const char *const places[] = {"/dev/shm", "/tmp"};
    for (size_t i = 0; !folder[0] && i < 2; i++) {
        snprintf(folder, sizeof folder, "%s/tidemark-fuzz-XXXXXX", places[i]);
        if (!mkdtemp(folder))
            folder[0] = '\0';
        else
            atexit(remove_folder);
    }
    MUST(folder[0]);
    return folder;
}
