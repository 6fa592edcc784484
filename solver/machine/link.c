#include "solver/machine/link.h"

#include <math.h>

double stencil_link_message_s(const stencil_link *link, double bytes) {
    return link->latency_s + 2 * link->overhead_s + fmax(bytes - 1, 0) * link->byte_s;
}

double stencil_link_further_s(const stencil_link *link, double bytes) {
    return 2 * link->overhead_s + fmax(link->gap_s - link->overhead_s, 0) +
           fmax(bytes - 1, 0) * link->both_byte_s;
}
