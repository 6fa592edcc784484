/* The time loops of all strategies, in the order of stencil_strategy_at(). */
#include "solver/run/strategy.h"

extern const stencil_strategy stencil_strategy_persistent;
#define STENCIL_STRATEGY(id, name, parts, text) extern const stencil_strategy stencil_strategy_##id;
#include "solver/machine/strategies.def"

static const stencil_strategy *const loops[] = {
#define STENCIL_STRATEGY(id, name, parts, text) &stencil_strategy_##id,
#include "solver/machine/strategies.def"
#define STENCIL_BARRIER(id, name, capability, needs, text) &stencil_strategy_persistent,
#include "sync/barriers.def"
};

const stencil_strategy *stencil_strategy_loop(int index) {
    return loops[index];
}
