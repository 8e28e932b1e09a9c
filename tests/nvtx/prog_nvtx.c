/*
 * prog_nvtx.c - a program that names what it does by NVTX, in the way that its argument says:
 *
 *     train    three steps with phases, blocks, a library's ranges, marks; and what is around them
 *     levels   prints what pushes and pops return
 *     names    many names: 20,000 that count, 20,000 that do not
 *     threads  ranges of many threads, one of which dies inside of one
 *     free     ranges that need not nest, one of which ends in another thread, one never
 *     fork     a child in the midst of ranges
 *     mixed    ranges of NVTX and phases of tidemark.h that cross
 *     open     ends inside of a step
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nvtx_part.h"
#include "nvtx_use.h"
#include "tidemark.h"

static tidemark_heap_t heap;
static uintptr_t next = 0x10000000;

static void alloc(void)
{
    if (!heap)
        heap = tidemark_heap_open(TIDEMARK_DEVICE_VIRTUAL, 0, "nvtx");
    tidemark_alloc(heap, (void *)(next += 0x1000), 1000);
}

static void range(const char *name, void (*inside)(void))
{
    nvtxRangePushA(name);
    if (inside)
        inside();
    nvtxRangePop();
}

static void backward(void)
{
    alloc();
    part_do("ncclAllReduce", alloc);
}

static void evaluation(void)
{
    range("batch 0", alloc);
    range("batch 1", alloc);
}

static void train(void)
{
    char name[32];
    range("set up", alloc);
    for (int epoch = 0; epoch < 2; epoch++) {
        for (int i = 0; i < 2; i++) {
            snprintf(name, sizeof name, "iteration %d", i);
            nvtxRangePushA(name);
            range("Zero_Grad", NULL);
            range("Forward", alloc);
            range("loss.backward()", backward);
            alloc();
            range("optimizer.step", alloc);
            nvtxRangePop();
        }
        range("validate", evaluation);
    }
    nvtxRangePushW(L"Gr\u00f6\u00dfe \u6f22");
    nvtxRangePop();
    nvtxEventAttributes_t mark = nvtx_named("checkpoint 7", 42);
    nvtxMarkEx(&mark);
    nvtxMarkA("plain");
    mark.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    mark.message.registered = nvtxDomainRegisterStringA(NULL, "registered");
    nvtxMarkEx(&mark);
    part_mark("rank", 3);
}

static void levels(void)
{
    nvtxEventAttributes_t named = nvtx_named("x", 0);
    nvtxDomainHandle_t own = nvtxDomainCreateA("own");
    for (int i = 0; i < 100; i++)
        if (nvtxRangePushA("deep") != i)
            break;
    printf("%d ", nvtxRangePushA("deep"));
    printf("%d ", nvtxDomainRangePushEx(own, &named));
    printf("%d ", part_do("y", NULL));
    printf("%d ", nvtxDomainRangePop(own));
    printf("%d ", nvtxDomainRangePop(own));
    for (int i = 0; i < 100; i++)
        nvtxRangePop();
    printf("%d ", nvtxRangePop());
    printf("%d\n", nvtxRangePop());
}

static void names(void)
{
    char name[32];
    for (int i = 0; i < 20000; i++) {
        snprintf(name, sizeof name, "step %d", i);
        range(name, NULL);
        snprintf(name, sizeof name, "%d steps", i);
        range(name, NULL);
    }
}

static void *work(void *argument)
{
    char name[32];
    snprintf(name, sizeof name, "thread %ld", (long)(intptr_t)argument);
    for (int i = 0; i < 50; i++) {
        nvtxRangePushA(name);
        part_do("ncclSend", NULL);
        range("inner", NULL);
        nvtxRangePop();
    }
    if (argument == NULL)
        nvtxRangePushA("abandoned");
    return NULL;
}

static void threads(void)
{
    pthread_t all[6];
    for (long i = 0; i < 6; i++)
        if (pthread_create(&all[i], NULL, work, (void *)(intptr_t)i) != 0)
            _exit(9);
    for (int i = 0; i < 6; i++)
        pthread_join(all[i], NULL);
}

static void *end_it(void *id)
{
    nvtxRangeEnd(*(nvtxRangeId_t *)id);
    return NULL;
}

static void free_ranges(void)
{
    pthread_t thread;
    nvtxEventAttributes_t named = nvtx_named("transfer", 0);
    nvtxDomainHandle_t own = nvtxDomainCreateA("copies");
    nvtxRangeId_t first = nvtxRangeStartA("load 1");
    nvtxRangeId_t second = nvtxDomainRangeStartEx(own, &named);
    nvtxRangeStartA("never");
    range("forward", alloc);
    nvtxDomainRangeEnd(own, second);
    if (pthread_create(&thread, NULL, end_it, &first) == 0)
        pthread_join(thread, NULL);
    nvtxRangeEnd(123456);
}

static void fork_inside(void)
{
    nvtxRangePushA("outer");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        range("of the child", alloc);
        printf("%d ", nvtxRangePop());
        printf("%d\n", nvtxRangePushA("again"));
        nvtxRangePop();
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    range("of the parent", alloc);
    nvtxRangePop();
}

static void mixed(void)
{
    nvtxRangePushA("theirs");
    tidemark_phase_begin("ours");
    nvtxRangePushA("inside");
    nvtxRangePop();
    tidemark_phase_end("ours");
    nvtxRangePop();
    tidemark_step_begin(7);
    range("step 3", NULL);
    tidemark_step_end();
}

static void open_step(void)
{
    nvtxRangePushA("epoch 1");
    nvtxRangePushA("step 5");
    range("fwd", alloc);
    nvtxRangePop();
    nvtxRangePushA("step 6");
    nvtxRangePushA("bwd");
    alloc();
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } ways[] = {{"train", train},     {"levels", levels},    {"names", names},
                {"threads", threads}, {"free", free_ranges}, {"fork", fork_inside},
                {"mixed", mixed},     {"open", open_step}};
    for (size_t i = 0; argc == 2 && i < sizeof ways / sizeof *ways; i++)
        if (strcmp(argv[1], ways[i].name) == 0) {
            ways[i].run();
            return 0;
        }
    return 2;
}
