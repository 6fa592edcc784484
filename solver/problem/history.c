#include "solver/problem/history.h"

#include <math.h>
#include <stdlib.h>

/* Doubles the capacity of an array whenever its count is a power of two, when it is full. */
static bool grow(void **array, int64_t count, size_t element_bytes) {
    if (count > 0 && (count & (count - 1)) != 0)
        return true;
    void *larger = realloc(*array, (size_t)(count > 0 ? 2 * count : 1) * element_bytes);
    if (larger == NULL)
        return false;
    *array = larger;
    return true;
}

stencil_status stencil_history_add(stencil_history *history, int64_t step, double residual) {
    const int64_t count = history->count;
    CHECK(grow((void **)&history->residual, count, sizeof(double)) &&
              grow((void **)&history->step, count, sizeof(int64_t)),
          NO_MEMORY, "no memory for a residual history of %lld entries: raise --check-every",
          (long long)count);
    history->residual[count] = residual;
    history->step[count] = step;
    history->count = count + 1;
    return STENCIL_OK;
}

double stencil_history_last(const stencil_history *history) {
    return history->count > 0 ? history->residual[history->count - 1] : NAN;
}

void stencil_history_destroy(stencil_history *history) {
    free(history->residual);
    free(history->step);
    *history = (stencil_history){0};
}
