/* rehearse_program.c - see rehearse_program.h. */
#include "rehearse_program.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "error.h"
#include "fatbin.h"
#include "launch.h"
#include "log.h"
#include "needs.h"

#define PATIENCE_MS 20000

static bool is_python(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strncmp(slash ? slash + 1 : path, "python", 6) == 0;
}

/* The words of a "#!" line. False: it has none. */
static bool first_line(const char *path, char *line, size_t room, char *words[3])
{
    FILE *file = fopen(path, "re");
    bool read = file && fgets(line, (int)room, file) && strncmp(line, "#!", 2) == 0;
    if (file)
        fclose(file);
    char *rest = read ? line + 2 : NULL;
    for (int i = 0; i < 3; i++)
        words[i] = rest ? strtok_r(i ? NULL : line + 2, " \t\r\n", &rest) : NULL;
    return words[0] != NULL;
}

bool rehearse_program_python(const char *program, char *python, size_t room)
{
    char path[PATH_MAX], line[PATH_MAX], *words[3];
    if (!launch_find(program, path, sizeof path))
        return false;
    const char *found = is_python(program) ? path : NULL;
    if (!found && first_line(path, line, sizeof line, words)) {
        const char *slash = strrchr(words[0], '/');
        bool env = strcmp(slash ? slash + 1 : words[0], "env") == 0 && words[1];
        const char *named = env && strcmp(words[1], "-S") == 0 ? words[2]
                            : env                              ? words[1]
                                                               : words[0];
        if (named && is_python(named) && launch_find(named, path, sizeof path))
            found = path;
    }
    int n = found ? snprintf(python, room, "%s", found) : 0;
    return n > 0 && (size_t)n < room;
}

/* What `python -c code` prints, within some seconds; "" if it prints nothing. */
static bool ask(const char *python, const char *code, char *answer, size_t room)
{
    char *const argv[] = {(char *)(uintptr_t)python, (char *)(uintptr_t) "-c",
                          (char *)(uintptr_t)code, NULL};
    int out[2], status = -1;
    pid_t pid;
    size_t used = 0;
    if (pipe(out) != 0)
        return false;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, out[0]);
    posix_spawn_file_actions_addclose(&actions, out[1]);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", 1 /* O_WRONLY */, 0);
    int failed = posix_spawn(&pid, python, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    struct pollfd ready = {.fd = out[0], .events = POLLIN};
    while (!failed && used + 1 < room && poll(&ready, 1, PATIENCE_MS) == 1) {
        ssize_t n = read(out[0], answer + used, room - used - 1);
        if (n <= 0)
            break;
        used += (size_t)n;
    }
    answer[used] = '\0';
    answer[strcspn(answer, "\n")] = '\0';
    close(out[0]);
    if (!failed) {
        kill(pid, SIGKILL); /* it has said all, or never will */
        waitpid(pid, &status, 0);
    }
    return !failed && used > 0;
}

/* The folder of the PyTorch that a Python would import; "" if there is none. */
static bool find_torch(const char *python, char *torch, size_t room)
{
    /* Found, not imported: that would take seconds. */
    static const char code[] = "import importlib.util as u, os\n"
                               "s = u.find_spec('torch')\n"
                               "p = os.path.dirname(s.origin) if s and s.origin else ''\n"
                               "print(p, flush=True)\n";
    return ask(python, code, torch, room) && *torch;
}

static void tell_missing(const char *what, const struct needs *needs)
{
    if (needs->missing)
        log_say(LOG_WARNING,
                "%s calls %zu function%s of CUDA's libraries that a rehearsal does not have, and "
                "fails where it gets there: %s%s",
                what, needs->missing, needs->missing == 1 ? "" : "s", needs->names,
                needs->missing > NEEDS_NAMED ? ", ..." : "");
}

/* "2.14.1" of torch/version.py; "" if it does not say. */
static void read_version(const char *torch, char version[32])
{
    char path[PATH_MAX + 64], line[256];
    snprintf(path, sizeof path, "%s/version.py", torch);
    FILE *file = fopen(path, "re");
    *version = '\0';
    while (file && !*version && fgets(line, sizeof line, file))
        if (sscanf(line, "__version__ = '%31[0-9.]", version) != 1)
            *version = '\0';
    if (file)
        fclose(file);
}

static void look_for_kernels(const char *path, const char *whose, const struct profile *gpu,
                             struct rehearse_program *out)
{
    struct fatbin fatbin;
    char targets[96];
    int major = gpu->capability->major, minor = gpu->capability->minor;
    if (fatbin_read(path, major, minor, &fatbin) != BASE_OK)
        return;
    fatbin_write(&fatbin, out->targets, sizeof out->targets);
    if (!fatbin_lacks(&fatbin))
        return;
    fatbin_text(&fatbin, targets, sizeof targets);
    snprintf(out->no_kernels, sizeof out->no_kernels,
             "%.60s has no kernels for capability %d.%d: on a real %.40s this run fails at its "
             "first kernel%s%s",
             whose, major, minor, gpu->title, *targets ? "; it has " : "", targets);
    log_say(LOG_WARNING, "%s", out->no_kernels);
}

static bool torch_can(const char *python, const char *torch, const char *stand_in,
                      const struct profile *gpu, struct rehearse_program *out)
{
    static const char *const libraries[] = {"libtorch_cuda.so", "libc10_cuda.so",
                                            "libtorch_cuda_linalg.so", "libtorch_python.so"};
    char path[PATH_MAX + 64];
    struct needs needs;
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        snprintf(path, sizeof path, "%s/lib/%s", torch, libraries[i]);
        if (i == 0 && access(path, R_OK) != 0) {
            log_say(LOG_ERROR,
                    "%s has a CPU build of PyTorch, which cannot be rehearsed: pip install torch "
                    "brings the CUDA build, which needs no GPU",
                    python);
            return false;
        }
        if (needs_of_file(path, stand_in, &needs) == BASE_OK)
            tell_missing(libraries[i], &needs);
    }
    char version[32], whose[48];
    read_version(torch, version);
    snprintf(whose, sizeof whose, "PyTorch%s%s", *version ? " " : "", version);
    snprintf(path, sizeof path, "%s/lib/%s", torch, libraries[0]);
    look_for_kernels(path, whose, gpu, out);
    return true;
}

/* Scripts and what is no ELF file are tried. */
static bool binary_can(const char *program, const char *stand_in, const struct profile *gpu,
                       struct rehearse_program *out)
{
    char path[PATH_MAX];
    struct needs needs;
    if (!launch_find(program, path, sizeof path) ||
        needs_of_file(path, stand_in, &needs) != BASE_OK)
        return true;
    if (needs.has_runtime) {
        log_say(LOG_ERROR,
                "%s has CUDA's runtime inside, which finds no GPU in a rehearsal: link it with "
                "-cudart=shared",
                program);
        return false;
    }
    tell_missing(program, &needs);
    const char *slash = strrchr(program, '/');
    look_for_kernels(path, slash ? slash + 1 : program, gpu, out);
    return true;
}

bool rehearse_program_can(const char *program, const char *stand_in, const struct profile *gpu,
                          struct rehearse_program *out)
{
    char python[PATH_MAX], torch[PATH_MAX];
    *out = (struct rehearse_program){.no_kernels = ""};
    if (!rehearse_program_python(program, python, sizeof python))
        return binary_can(program, stand_in, gpu, out);
    if (!find_torch(python, torch, sizeof torch))
        return true;
    return torch_can(python, torch, stand_in, gpu, out);
}

bool rehearse_program_is_cpu(const char *program)
{
    char python[PATH_MAX], torch[PATH_MAX], path[PATH_MAX + 64];
    if (!rehearse_program_python(program, python, sizeof python) ||
        !find_torch(python, torch, sizeof torch))
        return false;
    snprintf(path, sizeof path, "%s/lib/libtorch_cuda.so", torch);
    return access(path, R_OK) != 0;
}
