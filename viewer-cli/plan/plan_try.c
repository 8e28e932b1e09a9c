/* plan_try.c - see plan_try.h. */
#include "plan_try.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "error.h"
#include "mem.h"

#define LOOK_NS 20000000
#define SELF "/proc/self/exe"
#define TAIL (64 * 1024) /* bytes of what was printed that are looked at */
#define NAME_MOST 160
/* After a signal the program has so long to end by itself: it may have come to it, too. Then the
 * recorder gets SIGTERMs; the third one ends it whatever the program does (docs/limits.md). */
#define PATIENCE_NS (2 * NS_PER_S)

static volatile sig_atomic_t asked;

static void ask(int number)
{
    asked = number;
}

void plan_try_watch(void)
{
    struct sigaction action = {.sa_handler = ask};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    asked = 0;
}

int plan_try_signal(void)
{
    return asked;
}

const char *try_result_text(enum try_result result)
{
    static const char *const texts[] = {"fits",        "does not fit", "failed",
                                        "used no GPU", "not known",    "interrupted"};
    return texts[result];
}

void plan_try_status(const struct plan_try *it, char *text, size_t room)
{
    if (WIFSIGNALED(it->status))
        snprintf(text, room, "killed by signal %d", WTERMSIG(it->status));
    else
        snprintf(text, room, "exit status %d", WEXITSTATUS(it->status));
}

/* ---- lists of words ---- */

struct words { /* ends with NULL once it is complete */
    char **list;
    size_t count, cap;
    bool broken;
};

static void words_add(struct words *words, const char *text)
{
    char *copy = mem_copy(text, strlen(text));
    if (!copy || !MEM_GROW(words->list, words->cap, words->count + 2)) {
        mem_free(copy);
        words->broken = true;
        return;
    }
    words->list[words->count++] = copy;
    words->list[words->count] = NULL;
}

static void words_fill(struct words *words, const struct plan_run *run, const struct vary_at *at,
                       const char *text)
{
    struct buf filled = {0};
    vary_fill(run->vary, at, text, &filled);
    words->broken = words->broken || filled.broken;
    words_add(words, buf_string(&filled));
    buf_clear(&filled);
}

static void words_number(struct words *words, const char *option, int64_t number)
{
    char text[64];
    snprintf(text, sizeof text, "--%s=%" PRId64, option, number);
    words_add(words, text);
}

static void words_clear(struct words *words)
{
    for (size_t i = 0; i < words->count; i++)
        mem_free(words->list[i]);
    mem_free(words->list);
}

static void make_command(struct words *words, const struct plan_run *run,
                         const struct plan_machine *machine, const struct plan_try *it)
{
    words_add(words, "tidemark");
    words_add(words, machine->gpu ? "rehearse" : "record");
    if (machine->gpu) {
        words_add(words, "--gpu");
        words_add(words, machine->gpu);
        words_number(words, "gpus", run->gpus);
    }
    if (machine->gpu && machine->memory)
        words_number(words, "memory", machine->memory);
    if (run->steps)
        words_number(words, "steps", run->steps);
    words_add(words, "--progress=never");
    words_add(words, "-o");
    words_add(words, it->path);
    words_add(words, "--");
    for (size_t i = 0; run->arguments[i]; i++)
        words_fill(words, run, &it->at, run->arguments[i]);
}

static bool is_same_variable(const char *one, const char *other)
{
    size_t length = strcspn(one, "=");
    return strcspn(other, "=") == length && strncmp(one, other, length) == 0;
}

/* Ours, but for those that --env sets. */
static void make_environment(struct words *words, const struct plan_run *run,
                             const struct plan_try *it)
{
    for (char **at = environ; *at; at++) {
        bool set = false;
        for (size_t i = 0; i < run->env->count && !set; i++)
            set = is_same_variable(run->env->texts[i], *at);
        if (!set)
            words_add(words, *at);
    }
    for (size_t i = 0; i < run->env->count; i++)
        words_fill(words, run, &it->at, run->env->texts[i]);
}

/* ---- what was printed ---- */

/* Its end, with a NUL behind it; NULL without memory. */
static char *read_tail(const char *path)
{
    char *text = mem_alloc(TAIL + 1, 1);
    FILE *file = fopen(path, "re");
    long size = file && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : 0;
    if (text && file && fseek(file, size > TAIL ? size - TAIL : 0, SEEK_SET) == 0)
        text[fread(text, 1, TAIL, file)] = '\0';
    if (file)
        fclose(file);
    return text;
}

#define OURS "tidemark: "

/* PyTorch puts "[rank0]: " before each line of a rank's traceback. Where torchrun ends with an
 * error of its own, which says only that there was one, the first of the ranks' is it; NULL: none.
 */
static const char *find_rank_exception(const char *printed)
{
    static const char rank[] = "[rank", traceback[] = "Traceback";
    for (const char *line = printed; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *text = strncmp(line, rank, strlen(rank)) == 0 ? strstr(line, "]: ") : NULL;
        if (text && !isspace((unsigned char)text[3]) &&
            strncmp(text + 3, traceback, strlen(traceback)) != 0)
            return line;
    }
    return NULL;
}

/* Python's: the first line behind the last traceback that is not a part of it. */
static const char *find_exception(const char *printed)
{
    static const char traceback[] = "Traceback (most recent call last):";
    const char *last = NULL, *line;
    for (const char *at = printed; (at = strstr(at, traceback)) != NULL; at++)
        last = at;
    for (line = last; line && (line = strchr(line, '\n')) != NULL;)
        if (*++line && !isspace((unsigned char)*line))
            return line;
    return NULL;
}

char *plan_last_words(const char *printed, bool ours)
{
    const char *exception = find_exception(printed);
    const char *of_rank = find_rank_exception(printed);
    exception = of_rank ? of_rank : exception;
    if (exception && strncmp(exception, OURS, strlen(OURS)) != 0)
        return mem_copy(exception, strcspn(exception, "\r\n"));
    const char *last = NULL, *first = NULL;
    size_t last_length = 0, first_length = 0;
    for (const char *line = printed; *line;) {
        size_t length = strcspn(line, "\n"), used = length;
        while (used && isspace((unsigned char)line[used - 1]))
            used--;
        if (used > strlen(OURS) && strncmp(line, OURS, strlen(OURS)) == 0) {
            first_length = first ? first_length : used - strlen(OURS);
            first = first ? first : line + strlen(OURS);
        } else if (used) {
            last = line;
            last_length = used;
        }
        line += length + (line[length] == '\n');
    }
    if (last)
        return mem_copy(last, last_length);
    return first && ours ? mem_copy(first, first_length) : NULL;
}

/* What CUDA's runtime, PyTorch and the libraries say. */
bool plan_words_refuse(const char *printed)
{
    static const char *const words[] = {"CUDA out of memory",          "CUDA error: out of memory",
                                        "CUDA_ERROR_OUT_OF_MEMORY",    "cudaErrorMemoryAllocation",
                                        "CUBLAS_STATUS_ALLOC_FAILED",  "CUDNN_STATUS_ALLOC_FAILED",
                                        "CUSOLVER_STATUS_ALLOC_FAILED"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(printed, words[i]))
            return true;
    return false;
}

/* ---- the child ---- */

static int start(const struct words *words, const struct words *environment, const char *log,
                 pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    const int flags = O_WRONLY | O_CREAT | O_TRUNC;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return ERR_NOMEM;
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log, flags, 0600);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    int number = posix_spawn(pid, SELF, &actions, NULL, words->list, environment->list);
    posix_spawn_file_actions_destroy(&actions);
    return number ? base_err_from_errno(number) : 0;
}

static void await(struct plan_run *run, pid_t pid, int *status)
{
    const struct timespec pause = {.tv_nsec = LOOK_NS};
    uint64_t since_ns = 0;
    while (waitpid(pid, status, WNOHANG) == 0) {
        uint64_t now = clock_now_ns();
        since_ns = asked && !since_ns ? now : since_ns;
        if (since_ns && now - since_ns > PATIENCE_NS) {
            kill(pid, SIGTERM);
            since_ns = now;
        }
        if (run->wait)
            run->wait(run->context, run);
        nanosleep(&pause, NULL);
    }
}

/* What ends well fits, if anything is known of the GPU's memory. */
static enum try_result judge_good(const struct plan_seen *seen, bool rehearsed)
{
    if (!rehearsed || seen->cuda)
        return TRY_FITS;
    return seen->driven ? TRY_UNSEEN : TRY_UNUSED;
}

static enum try_result judge(const struct plan_try *it, bool rehearsed, const char *printed)
{
    if (asked)
        return TRY_LEFT;
    if (it->seen.refusals)
        return TRY_REFUSED;
    if (it->seen.done || (WIFEXITED(it->status) && WEXITSTATUS(it->status) == 0))
        return judge_good(&it->seen, rehearsed);
    return printed && plan_words_refuse(printed) ? TRY_REFUSED : TRY_FAILED;
}

static void read_outcome(const struct plan_run *run, struct plan_try *it, bool rehearsed)
{
    char *printed = read_tail(it->log);
    int err =
        access(it->path, F_OK) == 0 ? plan_read(it->path, run->steps, &it->seen) : ERR_NOTFOUND;
    it->result = judge(it, rehearsed && err >= 0, printed);
    it->words = printed ? plan_last_words(printed, it->result == TRY_FAILED) : NULL;
    if (err < 0 && it->result == TRY_FITS) { /* nobody knows what it took */
        it->result = TRY_FAILED;
        mem_free(it->words);
        it->words = mem_copy(base_err_text(err), strlen(base_err_text(err)));
    }
    mem_free(printed);
}

/* ---- its files ---- */

/* Letters that every file system and every shell takes. */
static bool is_plain(char letter)
{
    return isalnum((unsigned char)letter) || strchr("=,._+-", letter);
}

/* "B=48", or "B=48-2" where there is one; with the GPU behind it, where there are many. */
static int choose_files(const struct plan_run *run, const char *on, struct plan_try *it)
{
    struct buf name = {0}, path = {0}, log = {0};
    vary_put_text(run->vary, &it->at, VARY_NONE, ",", &name);
    if (on)
        buf_print(&name, "%s%s", name.count ? "," : "", on);
    if (!name.count)
        buf_text(&name, "run");
    name.count = name.count > NAME_MOST ? NAME_MOST : name.count;
    for (size_t i = 0; i < name.count; i++)
        if (!is_plain(name.data[i]))
            name.data[i] = '_';
    for (unsigned n = 1; n == 1 || access(buf_string(&path), F_OK) == 0; n++) {
        buf_clear(&path);
        buf_clear(&log);
        char again[16] = "";
        if (n > 1)
            snprintf(again, sizeof again, "-%u", n);
        buf_print(&path, "%s/%.*s%s.db", run->folder, (int)name.count, buf_string(&name), again);
        buf_print(&log, "%s/%.*s%s.log", run->folder, (int)name.count, buf_string(&name), again);
        if (path.broken || log.broken)
            break;
    }
    it->path = path.data;
    it->log = log.data;
    bool broken = path.broken || log.broken || name.broken;
    buf_clear(&name);
    return broken ? ERR_NOMEM : 0;
}

static int name_it(const struct plan_run *run, const char *on, struct plan_try *it)
{
    struct buf name = {0};
    vary_put_text(run->vary, &it->at, VARY_NONE, ", ", &name);
    it->name = mem_copy(buf_string(&name), name.count);
    buf_clear(&name);
    return it->name ? choose_files(run, on, it) : ERR_NOMEM;
}

int plan_try_run(struct plan_run *run, const struct plan_machine *machine, const struct vary_at *at,
                 struct plan_try *out)
{
    struct words words = {0}, environment = {0};
    pid_t pid = -1;
    *out = (struct plan_try){.at = *at, .result = TRY_FAILED};
    int err = name_it(run, machine->named ? machine->gpu : NULL, out);
    if (err >= 0) {
        make_command(&words, run, machine, out);
        make_environment(&environment, run, out);
        err = words.broken || environment.broken ? ERR_NOMEM : 0;
    }
    run->name = out->name;
    run->began_ns = clock_now_ns();
    if (err >= 0)
        err = start(&words, &environment, out->log, &pid);
    if (err >= 0) {
        await(run, pid, &out->status);
        out->took_ns = (int64_t)(clock_now_ns() - run->began_ns);
        read_outcome(run, out, machine->gpu != NULL);
    }
    words_clear(&words);
    words_clear(&environment);
    return err;
}

void plan_try_clear(struct plan_try *it)
{
    mem_free(it->name);
    mem_free(it->path);
    mem_free(it->log);
    mem_free(it->words);
    plan_seen_clear(&it->seen);
    plan_growth_clear(&it->growth);
    *it = (struct plan_try){0};
}
