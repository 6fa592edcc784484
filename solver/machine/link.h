/* The cost of messages over a link, by LogGP (Alexandrov, Ionescu, Schauser, Scheiman, 1995): a message of s
 * bytes is with its receiver o + L + (s - 1) G + o after it was begun, and the next one may follow max(g, o)
 * + (s - 1) G behind it. */
#pragma once

#include "base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stencil_link {
    double latency_s;   /* L: from the sender's network interface to the receiver's */
    double overhead_s;  /* o: time of a processor for a message, at each of its ends */
    double gap_s;       /* g: least time from a message to the next one */
    double byte_s;      /* G: time of a further byte of a message, */
    double both_byte_s; /* and where another message comes the other way, as ghost cells do */
} stencil_link;

/* Seconds from the begin of a message until the receiver has it: half of a ping-pong. */
double stencil_link_message_s(const stencil_link *link, double bytes);

/* Seconds that a message adds to an exchange both ways, without the latency, which all of them share: both
 * processors' overhead, the rest of the gap, and its bytes. */
double stencil_link_further_s(const stencil_link *link, double bytes);

#ifdef __cplusplus
}
#endif
