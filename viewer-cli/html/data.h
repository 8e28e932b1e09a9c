/*
 * data.h - what a page knows, as bytes. web/read.js reads it; the two change together, and then the
 * version does.
 *
 * Numbers are those of pack.h: n a number, s of either sign, k known or not, t a text. Times are
 * nanoseconds since the run began. "text", "site", "class" are places in the lists of their name.
 *
 *     page       "TMPG" n:version n t:purpose* n t:kind* n:recordings recording*
 *     recording  t:name json:reports scopes names     (json: n:bytes and the text)
 *     names      n t:text*  n frame*  n site*
 *     frame      n:text-shown n:text-file n:is-library
 *     site       n:id n:count n:frame*                (innermost first; site 0: not known)
 *     scopes     n scope*
 *     scope      n:process n:pid k:rank t:device n:flags [course moments phases steps refusals map]
 *                flags: 1 = the picture in [ ] is there
 *     course     s:from n:count column*  n:driven k:peak-seq n:peak-bytes n:peak-ns
 *                peak-seq: what lived at the peak lives after that event
 *     column     n:span n:first n:min n:max k:reserved-max k:step n:kind n:flags
 *                flags: 1 pause, 2 thinned
 *     moments    n:exact n:folded modules n class* n block* n moment* n:top
 *     modules    n (t:path t:class k:parent)*
 *     class      n:purpose n:born n:site n:module
 *     block      n:seq(+) n:size k:requested s:born-ns(+) k:free-seq(from seq) k:free-ns(from born)
 *                n:class n:site
 *     moment     n:seq(+) n:ns(+) n:changes (n:class(+) s:bytes s:blocks)*    (none where exact)
 *     phases     n:left-out n phase*
 *     phase      s:begin-ns(+) k:span n:begin-seq k:end-seq n:kind n:text-name k:step n:depth
 *                k:peak k:peak-seq k:peak-ns k:allocated
 *     steps      n:each n (n:step s:begin-ns k:end-ns k:peak k:allocated k:reserved)*
 *     refusals   n (n:seq s:ns n:asked n:site)*
 *     map        n:known s:seq n:left-out n segment*
 *     segment    t:address n:size n:heap n:free n:is-mapped n (n:hole-before n:size n:what n:site)*
 *                what: purpose, or 255: given back, a stream still uses it
 *
 * (+): from the one before. Kinds are those of course.h, purposes those of purpose.h.
 *
 * Invariants: no text is longer than PACK_TEXT_MOST and an ellipsis; every place is within its
 * list; a page has no more of anything than the limits below, and says what was left out. Figures
 * that are a report's come from that report: `reports` is what the commands print as json.
 */
#ifndef TIDEMARK_HTML_DATA_H
#define TIDEMARK_HTML_DATA_H

#include <stdint.h>

#include "buf.h"
#include "db.h"
#include "lexicon.h"
#include "report.h"

#define DATA_VERSION 1u
#define DATA_PICTURES 8u       /* scopes that are drawn; those with the highest peaks */
#define DATA_PICTURES_LARGE 2u /* of recordings with more blocks than DATA_LARGE */
#define DATA_LARGE 2000000
#define DATA_COLUMNS 1000u
#define DATA_PHASES 12000
#define DATA_STEPS 4000
#define DATA_SEGMENTS 1500u
#define DATA_MAP_BLOCKS 30000u

struct data { /* one recording on its way into the page */
    struct report *report;
    struct lexicon lexicon;
    struct buf out;
};

void data_begin(struct buf *out, unsigned recordings);
/* `json`: the reports. 0 or an error; what it made stands behind what is in `out`. */
int data_recording(struct report *report, const char *name, const struct buf *json,
                   struct buf *out);

/* Parts of a scope's picture, in the order of the format. */
int data_course(struct data *data, const struct report_scope *scope);
int data_moments(struct data *data, const struct report_scope *scope);
int data_phases(struct data *data, const struct report_scope *scope);
int data_steps(struct data *data, const struct report_scope *scope);
int data_refusals(struct data *data, const struct report_scope *scope);
int data_map(struct data *data, const struct report_scope *scope);

#endif
