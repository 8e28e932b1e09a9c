# banned.awk - the rules of banned.sh; needs strip.awk.

function rule(folders, names, why,    list, count, i)
{
    count = split(names, list, " ")
    for (i = 1; i <= count; i++) {
        where[list[i]] = where[list[i]] " " folders " "
        reason[list[i]] = why
    }
}

BEGIN {
    all = "include base ring allocator profiler schema store recorder viewer-cli samples"
    rule(all, "strcpy strcat stpcpy sprintf vsprintf gets strtok", "writes without a bound")
    rule(all, "atoi atol atoll atof", "cannot say that the text was no number")
    rule(all, "alloca", "takes stack without a bound")
    rule(all, "system popen", "starts a shell")
    rule("include base ring allocator profiler schema store recorder",
         "printf vprintf puts putchar putc perror stdout", "only viewer-cli/ writes to stdout")
    rule("include base ring allocator profiler schema store recorder",
         "exit abort quick_exit", "only viewer-cli/ ends the process")
    rule("ring profiler",
         "malloc calloc realloc reallocarray free strdup strndup asprintf vasprintf getline " \
         "posix_memalign aligned_alloc memalign mem_alloc mem_resize mem_copy mem_free mem_grow",
         "the guest takes no memory from the host's allocator")
    rule("ring profiler", "fopen fdopen freopen fclose fprintf vfprintf fputs fputc fgets fgetc fread " \
         "fwrite fflush fscanf", "the guest has no stdio: it takes memory, and locks")
}

FNR == 1 {
    in_comment = 0
    folder = FILENAME
    sub(/\/.*/, "", folder)
}

{
    code = strip($0)
    while (match(code, /[A-Za-z_][A-Za-z_0-9]*/)) {
        name = substr(code, RSTART, RLENGTH)
        before = substr(code, 1, RSTART - 1)
        code = substr(code, RSTART + RLENGTH)
        if (!(name in where) || index(where[name], " " folder " ") == 0) continue
        if (before ~ /(\.|->)[ ]*$/) continue
        if (name == "stdout" || code ~ /^[ ]*\(/)
            printf "%s:%d: %s: %s\n", FILENAME, FNR, name, reason[name]
    }
}
