/* Runs of several ranks: what each of them does for itself, and what rank 0 does for all. */
#pragma once

#include "app/report.h"
#include "app/run_options.h"

/* Tells the world how long it is patient. Errors: USAGE, where the option is given to one process. */
stencil_status ranks_be_patient(const invocation *call, double timeout_s);

/* Refuses options that several ranks do not have yet, and tells the world how long it is patient. Errors:
 * USAGE. */
stencil_status ranks_check(const invocation *call, const run_options *options);

/* Returns the threads of each rank: `asked` (0: not asked for), else those that the processors of the host
 * have for each of its ranks; the same in all ranks. */
int64_t ranks_threads(stencil_world *world, int64_t asked);

/* Gives all ranks the machine of rank 0, with the memory that the poorest of them has, and what messages
 * between them cost, which is measured. The ranks of a host share out the GPUs that they see; those of the
 * machine are none where some rank sees none, or one of another kind than rank 0. Errors: NO_MEMORY. */
stencil_status ranks_share_machine(stencil_world *world, stencil_machine *machine, ranks_gpus *gpus);

/* Finds out whether the GPUs that the ranks take, one for each, reach each other's memory, unless options
 * speak against GPUs or for messages. By all ranks. Errors: NO_MEMORY, INTERNAL. */
stencil_status ranks_find_reach(stencil_world *world, const stencil_machine *machine,
                                const stencil_run_options *options, ranks_gpus *gpus);

/* Checks that this rank has the plan that rank 0 has. By all ranks. Errors: UNAVAILABLE. */
stencil_status ranks_check_plan(stencil_world *world, const stencil_plan *plan);

/* Bits that ranks tell each other at polls: the signals that came. */
uint64_t ranks_say(void *context);
void ranks_hear(void *context, uint64_t bits);
