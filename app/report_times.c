/* The lines of a report about values that change in time. */
#include "app/report.h"

#include <string.h>

#include "inputs/inputs.h"
#include "solver/problem/factors.h"

enum { TIMES_CHARS = 1024 };

/* Adds an array of a sum: "/q times a table of 5 entries, t = 0 to 40" or "/q2 as it is". */
static void add_array(const stencil_problem *problem, const char *array, int k, char text[TIMES_CHARS]) {
    const int64_t count = problem->spec.table[k].count;
    const double *table = stencil_problem_table(problem, k);
    stencil_text_add(text, TIMES_CHARS, "%s%s", text[0] != '\0' ? "\n" : "", array);
    if (count == 0 || table == NULL)
        stencil_text_add(text, TIMES_CHARS, " as it is");
    else
        stencil_text_add(text, TIMES_CHARS, " times a table of %s, %s %s to %s", TEXT_COUNTED(count, "row"),
                         problem->spec.kind == STENCIL_KIND_HEAT ? "t =" : "steps", TEXT_SHORT(table[0]),
                         TEXT_SHORT(table[2 * count - 2]));
}

void report_print_times(const stencil_problem *problem) {
    const stencil_spec *spec = &problem->spec;
    const int sources = stencil_problem_sources(problem);
    char text[TIMES_CHARS] = "";
    if (!stencil_problem_in_time(problem))
        return;
    for (int k = 0; k < sources; k++)
        add_array(problem, stencil_source_names[stencil_source_dataset(spec->source, k)], k, text);
    if (sources > 0)
        PRINT(sources > 1 ? "Sources" : "Source", "%s", text);
    text[0] = '\0';
    for (int k = 0; k < spec->driven_count; k++)
        add_array(problem, stencil_source_names[STENCIL_DATASET_VALUE + k], STENCIL_SUM_ARRAYS + k, text);
    if (spec->driven_count > 0)
        PRINT("Driven", "%s of the cells that are kept:\n%s", TEXT_COUNT(problem->driven), text);
}

void report_note_times(run_record *run) {
    const stencil_problem *problem = &run->problem;
    if (stencil_problem_in_time(problem) && stencil_stop_has_criterion(&problem->stop))
        stencil_notes_warn(&run->notes,
                           "rtol and atol may end the run while factors in time have still to change: give "
                           "steps or time_end alone to go through their tables");
}
