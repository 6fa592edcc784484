/* Plans: a problem resolved, its classes found, and all ways to solve it compared. */
#include "library/inside.h"

#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "solver/problem/classes.h"
#include "solver/problem/coefficients.h"

/* Takes a name that stands for itself, or for the choice of the library; returns NULL for that. */
static const char *given(const char *name) {
    return name == NULL || name[0] == '\0' || strcmp(name, "auto") == 0 ? NULL : name;
}

static stencil_status find(const char *what, const char *name, const char *const *names, int *found) {
    char list[256] = "";
    *found = name == NULL || name[0] == '\0' ? 0 : stencil_name_find(name, names);
    CHECK(*found >= 0, USAGE, "%s is '%s': give one of %s", what, name,
          stencil_names_add(list, sizeof list, names));
    return STENCIL_OK;
}

/* Replaces a name of the caller, who may free it, by the library's own. */
static stencil_status settle(const char *what, const char **name, const char *const *names) {
    int found = 0;
    if (*name == NULL)
        return STENCIL_OK;
    TRY(find(what, *name, names, &found));
    *name = names[found];
    return STENCIL_OK;
}

static stencil_status take_options(const stencil_plan_options_t *options, stencil_plan_options_t *asked,
                                   stencil_run_options *run, stencil_effort *effort) {
    int backend = 0, found = 0;
    TRY(stencil_structure_take(asked, sizeof *asked, options, "stencil_plan_options_t"));
    TRY(find("device", asked->device, stencil_backend_names, &backend));
    TRY(find("effort", asked->effort, stencil_effort_names, &found));
    CHECK(asked->depth >= 0 && asked->parts >= 0 && asked->parts <= STENCIL_PARTS_MAX, USAGE,
          "depth is %d and parts %d: give numbers from 1 on, at most %d parts, or 0", (int)asked->depth,
          (int)asked->parts, STENCIL_PARTS_MAX);
    *effort = (stencil_effort)found;
    *run =
        (stencil_run_options){.sync = given(asked->sync),
                              .sweep = given(asked->sweep),
                              .depth = asked->depth,
                              .parts = asked->parts,
                              .backend = asked->parts > 0 ? STENCIL_BACKEND_CPU : (stencil_backend)backend};
    CHECK(asked->gpu_count >= 0 && asked->gpu_count <= STENCIL_PARTS_MAX &&
              (asked->gpu_count == 0 || asked->gpu != NULL),
          USAGE, "gpu_count is %d: give the numbers of at most %d GPUs", (int)asked->gpu_count,
          STENCIL_PARTS_MAX);
    run->gpu_count = asked->gpu_count;
    for (int i = 0; i < asked->gpu_count; i++)
        run->gpu[i] = asked->gpu[i];
    TRY(settle("sync", &run->sync, stencil_strategy_names));
    return settle("sweep", &run->sweep, stencil_sweep_names);
}

/* Finds out where the arrays of a problem are. What cells are is read by the host, here and now. */
static stencil_status locate(stencil_plan_t *plan) {
    const stencil_spec *spec = &plan->problem.spec;
    for (int i = 0; i < STENCIL_GIVEN_COUNT; i++) {
        stencil_array_t *array = &plan->arrays.given[i];
        if (array->data == NULL)
            continue;
        TRY(stencil_array_locate(array, stencil_given_names[i], plan->session));
        if (i >= STENCIL_SOURCES)
            TRY(stencil_array_fetch(array, spec->rank, spec->extent, &plan->fetched[i]));
    }
    return STENCIL_OK;
}

/* Compares all plans that the options leave open and takes the best; others are timed in the first run. */
static stencil_status choose(stencil_plan_t *plan, const stencil_run_options *run, stencil_effort effort) {
    stencil_machine *machine = &plan->session->machine;
    machine->host_available_bytes = stencil_memory_available_bytes();
    machine->cpu_threads = plan->session->threads;
    TRY(stencil_choice_make(&plan->choice, &plan->problem, run, machine));
    return stencil_tune_start(&plan->tune, &plan->choice, &plan->problem, machine, effort);
}

static stencil_status make(stencil_plan_t *plan, const stencil_problem_t *problem,
                           const stencil_plan_options_t *options) {
    stencil_plan_options_t asked;
    stencil_run_options run;
    stencil_effort effort = STENCIL_EFFORT_ESTIMATE;
    const stencil_reader cells = {stencil_arrays_read, &plan->arrays};
    TRY(take_options(options, &asked, &run, &effort));
    TRY(stencil_tables_take(plan, problem));
    TRY(stencil_settings_check(&plan->spec));
    TRY(stencil_problem_resolve(&plan->problem, &plan->spec));
    plan->arrays.problem = &plan->problem;
    plan->arrays.allow_nonfinite = asked.allow_nonfinite != 0;
    plan->no_bound = asked.no_bound != 0;
    memcpy(plan->arrays.given, problem->given, sizeof problem->given);
    TRY(locate(plan));
    TRY(stencil_coefficients_find(&plan->problem, &plan->spec, &cells));
    TRY(stencil_classes_find(&plan->problem, &cells, &plan->tables));
    pthread_mutex_lock(&plan->session->at);
    const stencil_status status = choose(plan, &run, effort);
    pthread_mutex_unlock(&plan->session->at);
    return status;
}

stencil_code_t stencil_plan_new(stencil_plan_t **plan, stencil_session_t *session,
                                const stencil_problem_t *problem, const stencil_plan_options_t *options) {
    stencil_visit visit;
    if (plan == NULL || problem == NULL)
        return stencil_code_fail(STENCIL_BAD_ARGUMENT, "a place for the plan and a problem are needed");
    *plan = NULL;
    stencil_status status = stencil_visit_enter(&visit, session);
    if (status != STENCIL_OK)
        return stencil_code_of(status);
    stencil_plan_t *made = calloc(1, sizeof *made);
    if (made != NULL) {
        made->session = stencil_session_share(session);
        status = make(made, problem, options);
    } else {
        status = ERROR(NO_MEMORY, "no memory for a plan");
    }
    if (status == STENCIL_OK)
        *plan = made;
    else
        stencil_plan_free(made);
    stencil_visit_leave(&visit);
    return stencil_code_of(status);
}

void stencil_plan_free(stencil_plan_t *plan) {
    if (plan == NULL)
        return;
    stencil_run_close(plan->run);
    stencil_choice_destroy(&plan->choice);
    stencil_problem_destroy(&plan->problem);
    stencil_tables_free(&plan->tables);
    for (int i = 0; i < STENCIL_GIVEN_COUNT; i++)
        free(plan->fetched[i]);
    stencil_session_free(plan->session);
    free(plan->text);
    free(plan);
}
