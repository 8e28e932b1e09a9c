/*
 * sim.h - what the simulated samples share: Tidemark's caching allocator on a virtual device,
 * tensors that are an address and a size, options, and a printed row at the end of each phase.
 *
 * Nothing is computed and no memory is touched: a sample says which tensors a program would make,
 * how large they are and how long they live. The allocator's policy is PyTorch's.
 */
#ifndef SAMPLES_SIM_H
#define SAMPLES_SIM_H

#include "tidemark.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tensor {
    void *address; /* NULL = there is none just now */
    uint64_t bytes;
};

struct sim {
    const char *program;
    struct tidemark_allocator *allocator;
    bool csv;
    char step[24]; /* empty before the first one */
};

/* A number that can be given as --NAME=NUMBER; where `bytes` is set, with KiB, MiB or GiB. */
struct sim_option {
    const char *name, *help;
    uint64_t least, most;
    bool bytes;
    uint64_t *value; /* holds the default */
};

/* One that can be given or not, as --NAME. */
struct sim_flag {
    const char *name, *help;
    bool *value;
};

/* Sets what the command line says, or prints the help and ends the program. Wrong usage ends it
 * with 2. */
void sim_options(int argc, char **argv, const char *about, const struct sim_option *options,
                 size_t option_count, const struct sim_flag *flags, size_t flag_count);

/* An allocator that may take `limit` bytes (0: as many as it likes) of a device without end. */
void sim_open(struct sim *sim, const char *program, uint64_t limit);
/* Ends the program's use of it; the exit status for main. */
int sim_close(struct sim *sim);

/* A new tensor for one that there is none of. Refused, it says so in the words of PyTorch and ends
 * the program with 1. */
#define sim_new(sim, tensor, bytes) sim_new_at((sim), (tensor), (bytes), TIDEMARK_SITE_ONCE())
void sim_new_at(struct sim *sim, struct tensor *tensor, uint64_t bytes, tidemark_site_t site);
void sim_drop(struct sim *sim, struct tensor *tensor);
void sim_tag(struct sim *sim, const struct tensor *tensor, enum tidemark_category category,
             const char *name);

void sim_step(struct sim *sim, uint64_t number);
/* One phase: `work` between its marks. */
void sim_phase(const char *name, void (*work)(void *self), void *self);
struct sim_part {
    const char *name;
    void (*work)(void *self);
};
/* A phase, and its row behind it. */
void sim_part(const struct sim *sim, const char *name, void (*work)(void *self), void *self);
/* A step of training that has these parts. */
void sim_train(struct sim *sim, uint64_t step, const struct sim_part *parts, size_t count,
               void *self);
/* What is printed: the allocator's counters as they are now, and their highest values. */
void sim_title(const struct sim *sim);
void sim_row(const struct sim *sim, const char *phase);
struct tidemark_allocator_stats sim_stats(const struct sim *sim);

/* The sample's own memory, zeroed: or the end of the program. */
void *sim_memory(size_t count, size_t size);

#endif
