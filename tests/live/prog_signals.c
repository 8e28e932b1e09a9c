/*
 * prog_signals.c - takes down which signals it gets, and does what it is told.
 *
 *     prog_signals FIFO LOG
 *
 * Lines of FIFO: "catch N", "ignore N", "raise N", "parent N" (to its parent), "group N" (to
 * its process group), "leave 0" (its group), "read 0" (a line of standard input), "say WORD", "exit
 * N". LOG gets a line "got N" for each signal that is caught, WORD for "say WORD", what was read,
 * and "ready" at first.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int log_fd;

static void put(const char *word)
{
    char line[64];
    int n = snprintf(line, sizeof line, "%s\n", word);
    (void)!write(log_fd, line, (size_t)n);
}

static void caught(int number)
{
    char line[] = "got 00\n";
    line[4] = (char)('0' + number / 10);
    line[5] = (char)('0' + number % 10);
    (void)!write(log_fd, line, sizeof line - 1);
}

static void read_line(void)
{
    char line[64];
    ssize_t bytes = read(STDIN_FILENO, line, sizeof line - 1);
    line[bytes > 0 ? strcspn((line[bytes] = '\0', line), "\n") : 0] = '\0';
    put(line);
}

static void obey(const char *word, const char *argument)
{
    int number = (int)strtol(argument, NULL, 10);
    if (strcmp(word, "catch") == 0) {
        struct sigaction action = {.sa_handler = caught, .sa_flags = SA_RESTART};
        sigfillset(&action.sa_mask); /* of two that wait, the lower number is taken down first */
        sigaction(number, &action, NULL);
    } else if (strcmp(word, "ignore") == 0) {
        signal(number, SIG_IGN);
    } else if (strcmp(word, "raise") == 0) {
        raise(number);
    } else if (strcmp(word, "parent") == 0) {
        kill(getppid(), number);
    } else if (strcmp(word, "group") == 0) {
        kill(0, number);
    } else if (strcmp(word, "leave") == 0) {
        (void)setpgid(0, 0); /* who leads its session or its group stays where it is */
    } else if (strcmp(word, "read") == 0) {
        read_line();
    } else if (strcmp(word, "say") == 0) {
        put(argument);
    } else if (strcmp(word, "exit") == 0) {
        exit(number);
    }
}

int main(int argc, char **argv)
{
    char word[32], argument[32];
    if (argc < 3)
        return 99;
    int fd = open(argv[1], O_RDWR); /* never at its end */
    FILE *lines = fd >= 0 ? fdopen(fd, "r") : NULL;
    log_fd = open(argv[2], O_CREAT | O_WRONLY | O_APPEND, 0600);
    if (!lines || log_fd < 0)
        return 99;
    put("ready");
    while (fscanf(lines, "%31s %31s", word, argument) == 2)
        obey(word, argument);
    return 98;
}
