/*
 * greeting_peer.h - whether the other end of a connection may hear of this process and give it
 * memory: a process of the same effective user, or root.
 *
 * Users have numbers of their own in each user namespace. One that has none in ours reads as the
 * overflow number, 65534 as a rule, and so does everybody else who has none. That number is
 * somebody only where every number is in use, as it is outside of all namespaces.
 */
#ifndef TIDEMARK_PROFILER_GREETING_PEER_H
#define TIDEMARK_PROFILER_GREETING_PEER_H

#include <stdbool.h>

bool greeting_peer_is_ours(int fd);

/* The text of /proc/self/uid_map gives a number to every user. */
bool greeting_maps_all(const char *text);

#endif
