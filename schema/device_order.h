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

/* A table for WITH: the devices of each process, place 1 first. Peaks are read only where a process
 * has two devices of a GPU's kind, for they are those of all phases. */
#define DEVICE_PLACES                                                                              \
    "device_places(process, device, place) AS ("                                                   \
    " SELECT h.process, h.device, row_number() OVER (PARTITION BY h.process"                       \
    "        ORDER BY " DEVICE_RANK("d.kind") ", coalesce(p.peak, 0) DESC, h.device)"              \
    "   FROM (SELECT DISTINCT process, device FROM heap) h JOIN device d ON d.id = h.device"       \
    "   LEFT JOIN (SELECT ph.process, pd.device, max(pd.peak_allocated) AS peak"                   \
    "                FROM phase_device pd JOIN phase ph ON ph.id = pd.phase"                       \
    "               WHERE EXISTS (SELECT 1 FROM heap h JOIN device d ON d.id = h.device"           \
    "                              WHERE d.kind <> 'cpu' GROUP BY h.process"                       \
    "                             HAVING count(DISTINCT d.id) > 1)"                                \
    "               GROUP BY 1, 2) p ON p.process = h.process AND p.device = h.device)"

/* Likewise of the whole recording. */
#define DEVICE_PLACES_OF_ALL                                                                       \
    "device_places(device, place) AS ("                                                            \
    " SELECT d.id, row_number() OVER (ORDER BY " DEVICE_RANK("d.kind")                             \
    ", coalesce(p.peak, 0) DESC, d.id)"                                                            \
    "   FROM device d LEFT JOIN (SELECT device, max(peak_allocated) AS peak FROM phase_device"     \
    "     WHERE (SELECT count(*) FROM device WHERE kind <> 'cpu') > 1"                             \
    "     GROUP BY device) p ON p.device = d.id)"

#endif
