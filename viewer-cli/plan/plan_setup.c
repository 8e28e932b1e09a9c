/* plan_setup.c - the options of a plan become names, cards and a folder: see plan.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "error.h"
#include "log.h"
#include "mem.h"
#include "plan.h"
#include "rehearse_program.h"

#define ANY_GPU "cc=8.0" /* where only its memory is given: most of today's are as it in this */
#define GPUS_MOST 64

#define MISUSED(...) command_misused(plan->command, __VA_ARGS__)

/* ---- what varies ---- */

static bool is_used(const struct plan *plan, const struct vary_name *name)
{
    for (size_t i = 0; plan->arguments[i]; i++)
        if (vary_is_in(name, plan->arguments[i]))
            return true;
    for (size_t i = 0; i < plan->options->env.count; i++)
        if (vary_is_in(name, plan->options->env.texts[i]))
            return true;
    return false;
}

static int read_vary(struct plan *plan)
{
    const struct option_texts *texts = &plan->options->vary;
    char why[256] = "";
    int err = 0;
    for (size_t i = 0; i < texts->count && err == 0; i++)
        err = vary_add(&plan->vary, texts->texts[i], why, sizeof why);
    if (err == 0)
        err = vary_settle(&plan->vary, why, sizeof why);
    if (err == ERR_ARG)
        return MISUSED("--vary: %s", why);
    if (err < 0)
        return EXIT_INTERNAL;
    for (size_t i = 0; i < plan->vary.count; i++)
        if (!is_used(plan, &plan->vary.names[i]))
            return MISUSED("--vary: {%s} is neither in the command nor in --env",
                           plan->vary.names[i].name);
    plan->alone = (struct vary_name){.count = 1, .range = true, .numbers = true, .step = 1};
    return 0;
}

static int read_env(struct plan *plan)
{
    for (size_t i = 0; i < plan->options->env.count; i++) {
        const char *equals = strchr(plan->options->env.texts[i], '=');
        if (!equals || equals == plan->options->env.texts[i])
            return MISUSED("--env is NAME=VALUE, not '%.60s'", plan->options->env.texts[i]);
    }
    return 0;
}

/* ---- the cards ---- */

static void add_card(struct plan *plan, const struct profile *profile, const char *gpu)
{
    struct plan_card *card = &plan->cards[plan->card_count];
    *card = (struct plan_card){.profile = *profile, .model = plan->card_count++};
    snprintf(card->gpu, sizeof card->gpu, "%s", gpu);
}

static int in_order(const struct plan_card *one, const struct plan_card *other)
{
    const struct capability *a = one->profile.capability, *b = other->profile.capability;
    if (a != b)
        return a->major != b->major ? a->major - b->major : a->minor - b->minor;
    if (one->profile.memory != other->profile.memory)
        return one->profile.memory > other->profile.memory ? -1 : 1;
    return strcmp(one->gpu, other->gpu);
}

/* The largest of each capability comes before the others, and is their model. */
static void find_models(struct plan *plan)
{
    for (size_t i = 1; i < plan->card_count; i++)
        for (size_t at = i; at; at--) {
            struct plan_card *card = &plan->cards[at], *before = card - 1, swap = *card;
            if (in_order(before, card) <= 0)
                break;
            *card = *before;
            *before = swap;
        }
    for (size_t i = 0; i < plan->card_count; i++) {
        bool as_before =
            i && plan->cards[i].profile.capability == plan->cards[i - 1].profile.capability;
        plan->cards[i].model = as_before ? plan->cards[i - 1].model : i;
    }
}

static int read_cards(struct plan *plan)
{
    const struct plan_options *options = plan->options;
    static struct gpu_cards cards;
    char why[256], any[64];
    if (!options->gpu && !options->memory)
        return MISUSED("needs --memory SIZE or --gpu NAME; 'tidemark rehearse --gpu list' shows "
                       "the names");
    snprintf(any, sizeof any, ANY_GPU ",memory=%" PRId64, options->memory);
    if (gpu_cards_read(options->gpu ? options->gpu : any, &cards, why, sizeof why) != BASE_OK)
        return MISUSED("--gpu: %s", why);
    if (cards.several && options->memory)
        return MISUSED("--gpu %s and --memory exclude each other",
                       strcmp(options->gpu, GPU_ALL) == 0 ? GPU_ALL : "with several names");
    plan->several = cards.several;
    for (size_t i = 0; i < cards.count; i++)
        add_card(plan, &cards.list[i].profile, cards.list[i].gpu);
    if (options->memory)
        plan->cards[0].profile.memory = (uint64_t)options->memory;
    find_models(plan);
    return 0;
}

static int check_numbers(struct plan *plan)
{
    const struct plan_options *options = plan->options;
    if (options->gpus < 1 || options->gpus > GPUS_MOST)
        return MISUSED("--gpus is a number from 1 to %d", GPUS_MOST);
    for (size_t i = 0; i < plan->card_count; i++)
        if (plan_room(plan, i) <= 0)
            return MISUSED("of the memory of %s the CUDA context%s leave nothing",
                           plan->cards[i].profile.title, options->reserve ? " and --reserve" : "");
    return 0;
}

/* ---- the way ---- */

/* Where a rehearsal is wanted and cannot be, the first one says why. */
static void choose_way(struct plan *plan)
{
    plan->way = (enum plan_way)plan->options->way;
    if (plan->way == PLAN_AUTO)
        plan->way = rehearse_program_is_cpu(plan->arguments[0]) ? PLAN_SCALING : PLAN_REHEARSAL;
}

int plan_setup(struct plan *plan)
{
    int code = read_vary(plan);
    if (!code)
        code = read_env(plan);
    if (!code)
        code = read_cards(plan);
    if (!code)
        code = check_numbers(plan);
    if (!code)
        choose_way(plan);
    plan->run = (struct plan_run){.vary = &plan->vary,
                                  .folder = plan->folder,
                                  .arguments = plan->arguments,
                                  .env = &plan->options->env,
                                  .steps = plan->options->steps,
                                  .gpus = plan->options->gpus};
    return code;
}

int plan_make_folder(struct plan *plan)
{
    char stamp[64];
    const char *folder = plan->options->output;
    time_t now = time(NULL);
    struct tm local;
    if (!folder) {
        localtime_r(&now, &local);
        size_t n = strftime(stamp, sizeof stamp, "plan.%Y%m%d-%H%M%S-", &local);
        snprintf(stamp + n, sizeof stamp - n, "%ld", (long)getpid());
        folder = stamp;
    }
    int n = snprintf(plan->folder, sizeof plan->folder, "%s", folder);
    if (n <= 0 || (size_t)n >= sizeof plan->folder)
        return MISUSED("-o: the name is %s", n <= 0 ? "empty" : "too long");
    struct stat info;
    if (mkdir(folder, 0777) == 0)
        return 0;
    int number = errno;
    if (number == EEXIST && stat(folder, &info) == 0 && S_ISDIR(info.st_mode)) {
        log_say(LOG_WARNING,
                "the folder %s exists: its files stay, new recordings come beside them", folder);
        return 0;
    }
    log_say(LOG_ERROR, "cannot make the folder %s: %s", folder,
            number == EEXIST ? "there is a file of that name" : strerror(number));
    return EXIT_INPUT;
}

static void clear_answer(struct plan_answer *answer)
{
    mem_free(answer->phase);
    scale_peak_clear(&answer->peak);
}

void plan_clear(struct plan *plan)
{
    for (size_t i = 0; i < plan->try_count; i++)
        plan_try_clear(&plan->tries[i]);
    for (size_t i = 0; i < plan->answer_count; i++)
        clear_answer(&plan->answers[i]);
    mem_free(plan->tries);
    mem_free(plan->answers);
    vary_clear(&plan->vary);
    *plan = (struct plan){0};
}

bool plan_is_valid(const struct plan *plan)
{
    for (size_t i = 0; i < plan->card_count; i++) {
        const struct plan_card *card = &plan->cards[i], *model = &plan->cards[card->model];
        if (model->model != card->model || model->profile.capability != card->profile.capability ||
            model->profile.memory < card->profile.memory)
            return false;
    }
    for (size_t i = 0; i < plan->answer_count; i++) {
        const struct plan_answer *answer = &plan->answers[i];
        bool found = answer->state == PLAN_FOUND;
        if ((found && answer->largest == PLAN_NONE) ||
            (found && answer->refused != PLAN_NONE && answer->refused != answer->largest + 1) ||
            (answer->largest_try != PLAN_NONE && answer->largest_try >= plan->try_count) ||
            (answer->refused_try != PLAN_NONE && answer->refused_try >= plan->try_count))
            return false;
    }
    return vary_is_valid(&plan->vary);
}
