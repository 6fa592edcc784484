#include "solver/machine/tuned.h"

#include <stdio.h>
#include <string.h>

const stencil_tuned_member stencil_tuned_members[] = {
#define STENCIL_TUNED(type, name, value, date, figure) {#name, #type, offsetof(stencil_tuning, name)},
#include "solver/machine/tuning/default.def"
    {0},
};

static const stencil_tuned_member *find(const char *name) {
    for (const stencil_tuned_member *m = stencil_tuned_members; m->name != NULL; m++)
        if (strcmp(m->name, name) == 0)
            return m;
    return NULL;
}

const stencil_tuned_member *stencil_tuned_sync(const char *strategy, bool persistent) {
    char name[64];
    snprintf(name, sizeof name, "sync_%s", strategy);
    for (char *c = name; *c != '\0'; c++)
        *c = *c == '-' ? '_' : *c;
    const stencil_tuned_member *own = find(name);
    return own != NULL ? own : find(persistent ? "sync_barriers" : "sync_launches");
}

bool stencil_tuning_find(stencil_tuning *tuning, const char *gpu) {
    bool found = false, here = false;
    *tuning = (stencil_tuning){
#define STENCIL_TUNED(type, name, value, date, figure) .name = value,
#include "solver/machine/tuning/default.def"
    };
    for (const stencil_tuned_row *row = stencil_tuned_rows; row->gpu != NULL || row->holds != NULL; row++) {
        if (row->gpu != NULL)
            here = strcmp(row->gpu, gpu) == 0;
        else if (here)
            memcpy((char *)tuning + row->offset, (const char *)row->holds + row->offset, row->size);
        found = found || here;
    }
    return found;
}
