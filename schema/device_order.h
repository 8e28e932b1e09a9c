/*
 * device_order.h - which device of a recording is shown first, in one place for the recorder's last
 * lines and for every report: CUDA's, then others, then the host's; of several of one rank the one
 * that was fullest at its peak, then the one that came first.
 */
#ifndef TIDEMARK_SCHEMA_DEVICE_ORDER_H
#define TIDEMARK_SCHEMA_DEVICE_ORDER_H

#include <string.h>

/* Of device.kind. */
static inline int device_rank(const char *kind)
{
    return strcmp(kind, "cuda") == 0 ? 0 : strcmp(kind, "cpu") == 0 ? 2 : 1;
}

/* The same in SQL. */
#define DEVICE_RANK(kind) "CASE " kind " WHEN 'cuda' THEN 0 WHEN 'cpu' THEN 2 ELSE 1 END"

/* The peak of a process on a device is in the last phases that it had. */
#define DEVICE_PEAKS                                                                               \
    "device_peaks(process, device, peak) AS ("                                                     \
    " SELECT h.process, h.device, (SELECT max(pd.max_allocated)"                                   \
    "          FROM (SELECT id FROM phase ph WHERE ph.process = h.process"                         \
    "                 ORDER BY id DESC LIMIT 64) ph"                                               \
    "         CROSS JOIN phase_device pd ON pd.phase = ph.id AND pd.device = h.device)"            \
    "   FROM (SELECT DISTINCT process, device FROM heap) h)"

/* Tables for WITH. Of each process: place 1 is shown first. */
#define DEVICE_PLACES                                                                              \
    DEVICE_PEAKS ", device_places(process, device, place) AS ("                                    \
                 " SELECT p.process, p.device, row_number() OVER (PARTITION BY p.process"          \
                 "        ORDER BY " DEVICE_RANK(                                                  \
                     "d.kind") ", coalesce(p.peak, 0) DESC, p.device)"                             \
                               "   FROM device_peaks p JOIN device d ON d.id = p.device)"

/* Of the whole recording. */
#define DEVICE_PLACES_OF_ALL                                                                       \
    DEVICE_PEAKS ", device_places(device, place) AS ("                                             \
                 " SELECT d.id, row_number() OVER (ORDER BY " DEVICE_RANK(                         \
                     "d.kind") ","                                                                 \
                               "        coalesce((SELECT max(p.peak) FROM device_peaks p"          \
                               "                   WHERE p.device = d.id), 0) DESC, d.id)"         \
                               "   FROM device d)"

#endif
