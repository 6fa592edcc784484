#include "solver/run/observer.h"

bool stencil_observers_poll(const stencil_observers *observers, int64_t step, double residual) {
    bool goes_on = true;
    for (int i = 0; i < observers->count; i++) {
        const stencil_observer *o = &observers->item[i];
        goes_on = (o->poll == NULL || o->poll(o->context, step, residual)) && goes_on;
    }
    return goes_on;
}
