/* HDF5's handles, closed at the end of their scope. */
#ifndef STENCIL_INPUTS_HANDLE_H
#define STENCIL_INPUTS_HANDLE_H

#include "inputs/h5.h"

/* Closes what is open, whatever it is. A failure before stays known to stencil_h5_reason(). */
static inline void stencil_handle_close(const hid_t *id) {
    if (*id < 0)
        return;
    stencil_h5_reason();
    H5Idec_ref(*id);
}

/* A variable that is closed so; negative: nothing is open. What is written closes by hand, since that fails.
 */
#define STENCIL_HANDLE __attribute__((cleanup(stencil_handle_close))) const hid_t

#endif
