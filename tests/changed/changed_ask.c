/*
 * changed_ask.c - see changed.h. The commands run in a child, so that one that crashes or never
 * ends is a finding, and the next one is asked.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "changed.h"
#include "commands.h"
#include "error.h"

/* Most answers take milliseconds; the limit is for what never ends, on a machine however busy. */
#define LIMIT_SECONDS 120
#define WORDS 12

/* "@" is the changed recording, "=" the one that was not changed, with an ending a file beside it.
 */
static const struct question {
    const char *words[WORDS];
} questions[] = {
    {{"info", "@", NULL}},
    {{"phases", "@", NULL}},
    {{"timeline", "@", NULL}},
    {{"timeline", "@", "--plot", "--ascii", NULL}},
    {{"timeline", "@", "--bytes-by", "category", "-f", "csv", NULL}},
    {{"peak", "@", NULL}},
    {{"why", "@", NULL}},
    {{"why", "@", "1..2", NULL}},
    {{"why", "@", "0/forward..end", NULL}},
    {{"frag", "@", NULL}},
    {{"frag", "@", "--over-time", NULL}},
    {{"ladder", "@", NULL}},
    {{"leaks", "@", "-k", "1", "-w", "0", NULL}},
    {{"fit", "@", "--memory", "1GiB", NULL}},
    {{"fit", "@", "--table", NULL}},
    {{"diff", "@", "=", NULL}},
    {{"check", "@", "--max-peak", "1G", "--max-growth", "1", "--no-oom", "--max-fragmentation", "5",
      NULL}},
    {{"repair", "--check", "@", NULL}},
    {{"repair", "@", "-o", "@.made", NULL}},
    {{"modules", "@", NULL}},
    {{"live", "@", "end", NULL}},
    {{"show", "@", "block:1", NULL}},
    {{"html", "@", "-o", "/dev/null", NULL}},
    {{"export", "--to", "perfetto", "@", "-o", "/dev/null", "--blocks", "0", NULL}},
    {{"skew", "@", NULL}},
    {{"merge", "--mixed", "-o", "@.made", "=", "@", NULL}},
    /* Behind each report once (QUESTIONS_FIRST): the other formats, and views. */
    {{"info", "@", "-f", "json", NULL}},
    {{"phases", "@", "--all", "-f", "csv", NULL}},
    {{"phases", "@", "-f", "json", NULL}},
    {{"timeline", "@", "-f", "json", NULL}},
    {{"peak", "@", "-f", "json", NULL}},
    {{"why", "@", "0..1", "-f", "json", NULL}},
    {{"frag", "@", "-f", "json", NULL}},
    {{"frag", "@", "--oom", NULL}},
    {{"ladder", "@", "-f", "json", NULL}},
    {{"leaks", "@", "-f", "json", NULL}},
    {{"fit", "@", "--table", "-f", "json", NULL}},
    {{"diff", "=", "@", "--moment", "end", "--all", NULL}},
    {{"diff", "@", "@", "-f", "json", NULL}},
    {{"check", "@", "--max-peak", "1G", "--allow-unknown", "-f", "json", "--junit", "@.made",
      NULL}},
    {{"check", "@", "--no-lost", "--max-reserved", "1", "--steps", "1..", NULL}},
    {{"show", "@", "a", "-f", "json", NULL}},
    {{"modules", "@", "--depth", "2", "-f", "json", NULL}},
    {{"export", "--to", "collapsed", "@", "-o", "-", NULL}},
    {{"export", "--to", "speedscope", "@", "-o", "-", NULL}},
    {{"export", "--to", "pprof", "@", "-o", "/dev/null", NULL}},
    {{"export", "--to", "chrome", "@", "-o", "-", NULL}},
    {{"export", "--to", "memory_viz", "@", "-o", "/dev/null", NULL}},
    {{"export", "--to", "csv", "@", "-o", "/dev/null", NULL}},
    {{"sql", "@", "SELECT * FROM allocations", NULL}},
    {{"sql", "@", "SELECT * FROM live_at_peak", "-f", "json", NULL}},
    {{"sql", "@", "SELECT * FROM phase_table", NULL}},
    {{"sql", "@", "SELECT * FROM timeline", NULL}},
    {{"sql", "@", "SELECT * FROM leak", NULL}},
    {{"sql", "@", "SELECT * FROM peak_by_site", NULL}},
    {{"sql", "@", "SELECT * FROM node; SELECT * FROM process_node", NULL}},
    {{"skew", "@", "=", "--all", "-f", "json", NULL}},
};
#define QUESTIONS (sizeof questions / sizeof *questions)

size_t changed_questions(void)
{
    return QUESTIONS;
}

/* What a child has told its parent. */
struct told {
    size_t at; /* the question that is asked now */
    uint64_t runs, codes[5], findings;
};

struct asking {
    const char *path, *whole, *what;
    char out[512], err[512]; /* files with what a command printed */
    struct told *told;
};

/* ---- in the child ---- */

static void say(const struct asking *asking, const char *why)
{
    const struct question *question = &questions[asking->told->at];
    char text[800] = "";
    int file = open(asking->err, O_RDONLY | O_CLOEXEC);
    ssize_t n = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[n > 0 ? n : 0] = '\0';
    printf("%s: tidemark", why);
    for (size_t i = 0; question->words[i]; i++)
        printf(" %s", question->words[i]);
    printf("\n  after: %s\n  stderr: %s\n", asking->what, text);
    fflush(stdout);
}

static int run(const struct asking *asking, const struct question *question)
{
    char words[WORDS][600];
    char *argv[WORDS];
    const char *near;
    int count = 0;
    const struct command *command = command_find(question->words[0], &near);
    MUST(command);
    for (; question->words[count + 1]; count++) {
        const char *word = question->words[count + 1];
        const char *file = word[0] == '@' ? asking->path : word[0] == '=' ? asking->whole : "";
        snprintf(words[count], sizeof *words, "%s%s", file, *file ? word + 1 : word);
        argv[count] = words[count];
    }
    argv[count] = NULL;
    return command->run(&(struct command_call){command, count, argv});
}

static bool is_control(unsigned char byte, unsigned char before)
{
    return (byte < 0x20 && byte != '\n') || byte == 0x7f ||
           (before == 0xc2 && byte >= 0x80 && byte < 0xa0);
}

/* What was printed to a file: how much, and whether a terminal would obey some of it. */
static size_t look_at(const char *path, bool *obeyed)
{
    static char bytes[1 << 16];
    size_t count = 0, n;
    unsigned char before = 0;
    FILE *file = fopen(path, "re");
    MUST(file);
    while ((n = fread(bytes, 1, sizeof bytes, file)) > 0) {
        for (size_t i = 0; i < n; i++) {
            *obeyed |= is_control((unsigned char)bytes[i], before);
            before = (unsigned char)bytes[i];
        }
        count += n;
    }
    fclose(file);
    return count;
}

/* Of a sanitizer that was told to go on. */
static bool has_finding(const char *path)
{
    static char text[1 << 14];
    FILE *file = fopen(path, "re");
    MUST(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return strstr(text, "runtime error: ") != NULL;
}

static bool has_word(const struct question *question, const char *word)
{
    for (size_t i = 0; question->words[i]; i++)
        if (strcmp(question->words[i], word) == 0)
            return true;
    return false;
}

static const char *what_is_wrong(const struct asking *asking, const struct question *question,
                                 int code)
{
    bool obeyed = false, obeyed_err = false;
    size_t out = look_at(asking->out, &obeyed), err = look_at(asking->err, &obeyed_err);
    /* What is as long as the recording leaves as it is read. */
    bool streams = has_word(question, "sql") || has_word(question, "export");
    if (code < EXIT_FINE || code > EXIT_INPUT)
        return "exit status";
    if (has_finding(asking->err))
        return "undefined";
    if ((obeyed && !has_word(question, "csv")) || obeyed_err)
        return "control characters";
    if (code == EXIT_INPUT && err == 0)
        return "no reason";
    if (code == EXIT_INPUT && out > 0 && !streams)
        return "half a report";
    return NULL;
}

static int to_file(const char *path, int as)
{
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    MUST(file >= 0 && dup2(file, as) == as);
    close(file);
    return as;
}

static void answer(const struct asking *asking, size_t from, const bool *asked)
{
    struct told *told = asking->told;
    char made[600];
    int tell = dup(STDOUT_FILENO);
    snprintf(made, sizeof made, "%s.made", asking->path);
    for (size_t i = from; i < QUESTIONS; i++) {
        if (!asked[i])
            continue;
        told->at = i;
        to_file(asking->out, STDOUT_FILENO);
        to_file(asking->err, STDERR_FILENO);
        alarm(LIMIT_SECONDS);
        int code = run(asking, &questions[i]);
        alarm(0);
        fflush(stdout);
        unlink(made);
        told->runs++;
        if (code >= 0 && code < 5)
            told->codes[code]++;
        const char *why = what_is_wrong(asking, &questions[i], code);
        MUST(dup2(tell, STDOUT_FILENO) == STDOUT_FILENO);
        if (why) {
            told->findings++;
            say(asking, why);
        }
    }
    told->at = QUESTIONS;
    close(tell);
}

/* ---- in the parent ---- */

/* True: all was answered. */
static bool end_of(const struct asking *asking, pid_t child)
{
    struct told *told = asking->told;
    char why[64];
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        MUST(errno == EINTR);
    if (told->at == QUESTIONS && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    if (WIFEXITED(status))
        snprintf(why, sizeof why, "ended with %d", WEXITSTATUS(status));
    else if (WTERMSIG(status) == SIGALRM)
        snprintf(why, sizeof why, "not answered in %d s", LIMIT_SECONDS);
    else
        snprintf(why, sizeof why, "died of signal %d", WTERMSIG(status));
    told->findings++;
    if (told->at == QUESTIONS) /* a leak, seen at the end */
        printf("%s behind the last command\n  after: %s\n", why, asking->what);
    else
        say(asking, why);
    return told->at++ >= QUESTIONS;
}

void changed_ask(const char *path, const char *whole, const bool *asked, const char *what,
                 struct changed_answers *answers)
{
    struct asking asking = {.path = path, .whole = whole, .what = what};
    snprintf(asking.out, sizeof asking.out, "%s.out", path);
    snprintf(asking.err, sizeof asking.err, "%s.err", path);
    asking.told =
        mmap(NULL, sizeof *asking.told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    MUST(asking.told != MAP_FAILED);
    for (bool over = false; !over;) {
        fflush(stdout);
        pid_t child = fork();
        MUST(child >= 0);
        if (child == 0) {
            answer(&asking, asking.told->at, asked);
            exit(0); /* where a leak is looked for */
        }
        over = end_of(&asking, child);
    }
    answers->runs += asking.told->runs;
    answers->findings += asking.told->findings;
    for (size_t i = 0; i < 5; i++)
        answers->codes[i] += asking.told->codes[i];
    munmap(asking.told, sizeof *asking.told);
}
