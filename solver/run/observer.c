#include "solver/run/observer.h"

bool stencil_observers_poll(const stencil_observers *observers, int64_t step, double residual) {
    bool goes_on = true;
    for (int i = 0; i < observers->count; i++) {
        const stencil_observer *o = &observers->item[i];
        goes_on = (o->poll == NULL || o->poll(o->context, step, residual)) && goes_on;
    }
    return goes_on;
}

uint64_t stencil_observers_say(const stencil_observers *observers) {
    uint64_t bits = 0;
    for (int i = 0; i < observers->count; i++) {
        const stencil_observer *o = &observers->item[i];
        bits |= o->says != NULL ? o->says(o->context) : 0;
    }
    return bits;
}

void stencil_observers_hear(const stencil_observers *observers, uint64_t bits) {
    for (int i = 0; i < observers->count; i++) {
        const stencil_observer *o = &observers->item[i];
        if (o->hears != NULL)
            o->hears(o->context, bits);
    }
}
