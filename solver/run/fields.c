#include "solver/run/run.h"

stencil_status stencil_run_fields(const stencil_plan *plan, const stencil_problem *problem,
                                  const stencil_field *u, const stencil_field *b,
                                  const stencil_observers *observers, stencil_report *report) {
    stencil_fields fields = {u, b, NULL, NULL};
    const stencil_reader from = {stencil_fields_read, &fields};
    const stencil_box array = stencil_mesh_array(&plan->cut.mesh);
    const stencil_cells all = stencil_field_cells(u), to = stencil_cells_from(&all, array.first);
    stencil_run *run;
    TRY(stencil_run_open(&run, plan, problem, &from));
    stencil_status status = stencil_run_drive(run, observers, report);
    if (status == STENCIL_OK)
        status = stencil_run_read(run, STENCIL_ARRAY_U, &array, &to);
    stencil_run_close(run);
    return status;
}
