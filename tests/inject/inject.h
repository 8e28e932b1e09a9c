/*
 * inject.h - calls that fail on order. The command is linked once more, with the calls that it
 * makes going through here (ld's --wrap, so in any build, sanitizers too); what to fail stands in
 * the environment:
 *
 *     INJECT_CALL   names of calls with commas between, which are counted together
 *     INJECT_AT     the first of them that fails, from 1
 *     INJECT_FOR    how many fail in a row, 1 if it is not given; 0: all that follow
 *     INJECT_CODE   the errno, or SQLite's result code for its functions, that it fails with;
 *                   0: it succeeds with half of the bytes
 *     INJECT_LOG    a file that is made when the first has failed, and says where it was called
 * from INJECT_SITE   of the calls only those from this site count for INJECT_AT (sites.h; in hex)
 *     INJECT_SKIP   and of these none among the first so many calls
 *     INJECT_SITES  nothing fails; a table of all sites is written to this file
 *     INJECT_ROUNDS a file: each time that the command sleeps, the next of its parts, which end
 * with a line of "--", is run as SQL on the database live.db, and no time passes (sql.c)
 *
 * A call that was not reached leaves no INJECT_LOG: then all were tried.
 *
 * Invariants: without INJECT_CALL every call does what it does elsewhere; calls of a child that was
 * forked are never counted, nor those made by what is here; a call that fails changes nothing.
 */
#ifndef TIDEMARK_TESTS_INJECT_H
#define TIDEMARK_TESTS_INJECT_H

#include <stdbool.h>

/* True: the call `name` is to fail with *code; its caller stands at `from`. */
bool inject_now(const char *name, const void *from, int *code);

/* While it is not 0, this thread's calls are none of the command's. */
extern _Thread_local int inject_apart;

#endif
