/*
 * fatbin.h - for which compute capabilities a library has kernels, read from its file.
 *
 * A library carries one container for each of its source files with kernels, one behind the other
 * in the section .nv_fatbin. A container has an entry for each target: machine code of one
 * capability (a cubin), or PTX. What these mean is public: machine code runs on its capability and
 * on later ones of the same major number (not on those of Jetson boards), PTX on its capability and
 * all later ones, compiled by the driver. A container without any such entry fails where the first
 * kernel of it is launched.
 *
 *     container: u32 magic, u16 version, u16 bytes of this header, u64 bytes of all entries
 *     entry:     u16 kind, u16, u32 bytes of this header, u64 bytes of what follows it; at byte 28
 *                u32 the capability, as 75 or 120
 *
 * The sizes are the file's own words: each is checked against the section, and what does not hold
 * ends the walk.
 */
#ifndef TIDEMARK_REHEARSAL_FATBIN_H
#define TIDEMARK_REHEARSAL_FATBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FATBIN_TARGETS 24

struct fatbin_target {
    bool ptx;
    int32_t capability; /* major * 10 + minor */
    size_t containers;  /* that have it */
};

/* Invariant: targets ascend by capability, machine code before PTX; none is there twice. */
struct fatbin {
    size_t containers;
    struct fatbin_target targets[FATBIN_TARGETS];
    size_t target_count;
    size_t runnable; /* containers with an entry that the capability in question can run */
};

/* Of a file's section, for a GPU of this capability. ERR_NOTFOUND, ERR_NOMEM, ERR_CORRUPT: the
 * file; a file without the section has no containers. */
int fatbin_read(const char *path, int32_t major, int32_t minor, struct fatbin *out);
/* Half of the containers or more cannot be run: it is not built for that capability. */
bool fatbin_lacks(const struct fatbin *fatbin);
/* The targets that most containers have: "7.5, 8.0, 9.0 and PTX of 9.0". */
void fatbin_text(const struct fatbin *fatbin, char *text, size_t room);
/* The same for a recording: "75 80 p90", p is PTX; and whether a GPU of this capability could run
 * one of them. "" says nothing, and lacks nothing. */
void fatbin_write(const struct fatbin *fatbin, char *text, size_t room);
bool fatbin_written_lacks(const char *text, int32_t major, int32_t minor);
bool fatbin_is_valid(const struct fatbin *fatbin);

#endif
