/*
 * levers_sites.h - what lives at the peak, by who made it.
 *
 * Bytes that less than a hundredth of the peak depends on are not looked at more closely, so there
 * are at most a hundred groups, whatever the number of sites.
 */
#ifndef TIDEMARK_ANALYSIS_LEVERS_SITES_H
#define TIDEMARK_ANALYSIS_LEVERS_SITES_H

#include "group.h"
#include "levers_work.h"

/* Blocks that live at the peak and are of some kind, by site, largest first. 0 or an error;
 * groups_clear in both cases. */
int levers_group_sites(const struct levers_work *work,
                       bool (*is)(const struct levers_step *step, const struct levers_block *block),
                       struct groups *out);

#endif
