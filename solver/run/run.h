/* Runs a plan: the loop around all time loops. */
#pragma once

#include "solver/plan/plan.h"
#include "solver/problem/boxes.h"
#include "solver/run/observer.h"

/* A run: cells where the plan wants them, the steps, and the cells again. Problem and plan are borrowed until
 * it is closed. */
typedef struct stencil_run stencil_run;

/* Takes devices and memory and reads the cells, box by box as its parts need them: all of u before b. *run is
 * NULL on failure. BAD_DATA where the norm of changes would leave the range of numbers; NO_MEMORY with need
 * and have; what the reader fails with. */
stencil_status stencil_run_open(stencil_run **run, const stencil_plan *plan, const stencil_problem *problem,
                                const stencil_reader *from);

/* Makes the steps to the problem's stop, once; *report (zeroed and destroyed by the caller) says what
 * happened. Divergence and missing convergence are reasons, not errors. */
stencil_status stencil_run_drive(stencil_run *run, const stencil_observers *observers,
                                 stencil_report *report);

/* Has the steps behind this one made by another plan for the same problem, which is borrowed, too; called by
 * an observer. What made them before is kept, so that the way back costs nothing, or, to another cut or
 * device, copies of the cells. Where it fails (as stencil_run_open()), the run can go on as before. */
enum { STENCIL_SIDES_MAX = 64 };
stencil_status stencil_run_replan(stencil_run *run, const stencil_plan *plan);

/* Gives back the memory of plans whose cells are in other places than those of the one that goes on. */
void stencil_run_settle(stencil_run *run);

/* `read` of a stencil_reader, whose context is the run: the cells as they are, before the steps or after them
 * (not when those have failed). */
stencil_status stencil_run_read(void *run, stencil_array array, const stencil_box *box,
                                const stencil_cells *to);

/* NULL-safe. */
void stencil_run_close(stencil_run *run);

/* A run with fields in memory; the result takes the place of u. b may be NULL. */
stencil_status stencil_run_fields(const stencil_plan *plan, const stencil_problem *problem,
                                  const stencil_field *u, const stencil_field *b,
                                  const stencil_observers *observers, stencil_report *report);
