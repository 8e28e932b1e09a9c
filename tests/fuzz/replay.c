/* replay.c - main() of a driver without a fuzzer: runs the files and folders that it is given. */
#include <dirent.h>
#include <sys/stat.h>

#include "fuzz.h"

#define CHANGES 15u /* of each file, where the driver has a mutator */

#pragma weak LLVMFuzzerCustomMutator

/* The least that a mutator may ask for. */
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t count, size_t most)
{
    static uint32_t state = 1;
    for (int i = 0; count && i < 4; i++) {
        state = state * 1664525u + 1013904223u;
        bytes[(state >> 8) % count] ^= (uint8_t)(1u << (state >> 5 & 7));
    }
    return count < most ? count : most;
}

static void replay_changed(const unsigned char *bytes, size_t count)
{
    unsigned char *changed = malloc(count + 1);
    MUST(changed);
    for (unsigned seed = 1; seed <= CHANGES; seed++) {
        memcpy(changed, bytes, count);
        LLVMFuzzerTestOneInput(changed, LLVMFuzzerCustomMutator(changed, count, count, seed));
    }
    free(changed);
}

static size_t replay(const char *path)
{
    FILE *file = fopen(path, "rb");
    MUST(file && fseek(file, 0, SEEK_END) == 0);
    long size = ftell(file);
    rewind(file);
    /* Exactly as large as the file, so that a read behind its end is seen. */
    unsigned char *bytes = malloc(size > 0 ? (size_t)size : 1);
    MUST(bytes && fread(bytes, 1, (size_t)size, file) == (size_t)size);
    fclose(file);
    LLVMFuzzerTestOneInput(bytes, (size_t)size);
    if (LLVMFuzzerCustomMutator)
        replay_changed(bytes, (size_t)size);
    free(bytes);
    return 1;
}

static size_t replay_all(const char *path)
{
    struct stat about;
    size_t count = 0;
    MUST(stat(path, &about) == 0);
    if (!S_ISDIR(about.st_mode))
        return replay(path);
    DIR *folder = opendir(path);
    MUST(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        char name[4096];
        if (entry->d_name[0] == '.' || strcmp(entry->d_name, "README.md") == 0)
            continue;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        count += replay_all(name);
    }
    closedir(folder);
    return count;
}

int main(int argc, char **argv)
{
    size_t count = 0;
    for (int i = 1; i < argc; i++)
        count += replay_all(argv[i]);
    fprintf(stderr, "%zu inputs\n", count);
    return count > 0 ? 0 : 99;
}
