/* Head of a report: the problem, in symbols and with its numbers, and the devices that solve it. */
#include <math.h>
#include <string.h>

#include "app/report.h"
#include "solver/problem/cycle.h"
#include "solver/plan/sweep.h"

#define ADD(...) stencil_text_add(text, REPORT_EQUATION_CHARS, __VA_ARGS__)

/* Returns grid spacings, x first: "0.0039 × 0.0039"; with axis names where spacings differ. */
static const char *spacing_text(const stencil_problem *problem, char text[96]) {
    const stencil_spec *spec = &problem->spec;
    const int first = STENCIL_AXES - problem->rank;
    bool same = true;
    for (int axis = STENCIL_X; axis >= first; axis--) {
        const double h = stencil_spec_spacing(spec, axis);
        same = same && h == stencil_spec_spacing(spec, STENCIL_X);
        stencil_text_add(text, 96, "%s%s", axis < STENCIL_X ? " × " : "", TEXT_SHORT(h));
    }
    return stencil_text_add(text, 96, "%s", same ? "" : problem->rank == 2 ? " (x, y)" : " (x, y, z)");
}

/* Adds the equation, and the meaning of b in it where relaxation or heat has a source term. */
static void add_equation(const stencil_problem *problem, bool ascii, char text[REPORT_EQUATION_CHARS]) {
    const stencil_spec *spec = &problem->spec;
    const bool b = spec->source == STENCIL_SOURCE_B,
               damped = problem->cycle.length == 1 && spec->omega != 1.0;
    const char *laplacian = ascii ? "div grad u" : "∇²u", *minus = ascii ? "-" : "−";
    if (spec->has_k)
        laplacian = ascii ? "div (k grad u)" : "∇·(k∇u)";
    if (spec->kind == STENCIL_KIND_HEAT)
        ADD("%s%s%s%s",
            ascii         ? (spec->has_k ? "du/dt = " : "du/dt = alpha ")
            : spec->has_k ? "∂u/∂t = "
                          : "∂u/∂t = α",
            laplacian,
            b                                  ? " + b/dt"
            : spec->source == STENCIL_SOURCE_Q ? (spec->source_count > 1     ? " + sum of f(t) q"
                                                  : spec->table[0].count > 0 ? " + f(t) q"
                                                                             : " + q")
                                               : "",
            b ? ", b from /b as it is" : "");
    else if (b)
        ADD("%s%s = S b%s, b from /b, S %s", minus, laplacian,
            !damped ? ""
            : ascii ? "/omega"
                    : "/ω",
            TEXT_SHORT(stencil_spec_diagonal(spec)));
    else if (spec->kind == STENCIL_KIND_POISSON)
        ADD("%s%s = %s", minus, laplacian, spec->source == STENCIL_SOURCE_F ? "f" : "0 (there is no /f)");
    else
        ADD("%s = 0", laplacian);
}

static void add_weights(const stencil_problem *problem, bool ascii, char text[REPORT_EQUATION_CHARS]) {
    const stencil_spec *spec = &problem->spec;
    const int points = spec->offset_count > 0 ? spec->offset_count : problem->shape->point_count;
    double sum = 0.0;
    for (int k = 0; k < problem->shape->point_count; k++)
        sum += problem->weight[k];
    ADD("%s over %d point%s%s, weights sum %s", ascii ? "u' = sum of w*u" : "u′ = Σ w·u", points,
        stencil_plural(points),
        spec->source == STENCIL_SOURCE_NONE ? ""
        : spec->source_count > 1            ? ", + sum of f b from /b, …"
                                            : ", + b from /b",
        TEXT_SHORT(sum));
}

/* Writes what the diffusivity is: ", α 1, 2"; with /k what that is. */
static const char *diffusivity_text(const stencil_spec *spec, bool ascii, char text[96]) {
    if (spec->has_k)
        return "";
    stencil_text_add(text, 96, ", %s ", ascii ? "alpha" : "α");
    for (int i = 0; i < spec->diffusivity_count; i++)
        stencil_text_add(text, 96, "%s%s", i > 0 ? ", " : "", TEXT_SHORT(spec->diffusivity[i]));
    return text;
}

char *report_equation_text(const stencil_problem *problem, bool ascii, char text[REPORT_EQUATION_CHARS]) {
    const stencil_spec *spec = &problem->spec;
    const int64_t before = problem->origin.steps, steps = problem->stop.steps;
    const double start = stencil_problem_time(problem, before);
    text[0] = '\0';
    if (spec->kind == STENCIL_KIND_NONE) {
        add_weights(problem, ascii, text);
        return text;
    }
    add_equation(problem, ascii, text);
    if (spec->kind == STENCIL_KIND_HEAT)
        ADD("%s, dt %s (largest stable %s)", diffusivity_text(spec, ascii, (char[96]){""}),
            TEXT_SHORT(spec->dt), TEXT_SHORT(stencil_spec_dt_largest(spec)));
    else if (problem->cycle.length > 1)
        ADD(", by accelerated Jacobi iteration");
    else
        ADD(", by Jacobi iteration, %s %s", ascii ? "omega" : "ω", TEXT_SHORT(spec->omega));
    ADD(", spacing %s", spacing_text(problem, (char[96]){""}));
    if (spec->kind == STENCIL_KIND_HEAT && start != 0)
        ADD(", from t = %s", TEXT_SHORT(start));
    if (spec->kind == STENCIL_KIND_HEAT)
        ADD("%s to t = %s%s", start != 0 ? "" : ",",
            TEXT_SHORT(stencil_problem_time(problem, steps > before ? steps : before)),
            stencil_stop_has_criterion(&problem->stop) ? " at most" : "");
    return text;
}

char *report_coefficients_text(const stencil_problem *problem, char text[160]) {
    const stencil_k_facts *k = &problem->spec.k;
    char some[40] = "";
    if (isnan(k->most))
        snprintf(text, 160, "from /k, not read");
    if (isnan(k->most))
        return text;
    if (k->materials > 0)
        snprintf(some, sizeof some, ", %d material%s", k->materials, stencil_plural(k->materials));
    snprintf(text, 160, "k from %s to %s%s: %s", TEXT_SHORT(k->least), TEXT_SHORT(k->most), some,
             stencil_problem_has_fields(problem) ? "fields of face weights" : "a palette");
    return text;
}

enum { REPORT_BOUNDARY_CHARS = 400 };

/* The wall of a side, with its numbers. */
static void add_wall(const stencil_problem *problem, int axis, int side, char *text, size_t size) {
    const stencil_spec *spec = &problem->spec;
    const stencil_wall_kind wall = problem->wall[axis][side];
    const double number[] = {spec->flux[axis][side], spec->exchange[axis][side], spec->ambient[axis][side]};
    const bool has[] = {stencil_wall_has_flux(wall), stencil_wall_exchanges(wall),
                        stencil_wall_exchanges(wall)};
    stencil_text_add(text, size, "%s", stencil_wall_names[wall]);
    for (int which = 0; which < STENCIL_NUMBER_COUNT; which++) {
        const double *range = spec->range[axis][side][which];
        const char *with = which == STENCIL_NUMBER_AMBIENT ? "with " : "";
        if (has[which] && spec->along[axis][side][which])
            stencil_text_add(text, size, " %s%g to %g", with, range[0], range[1]);
        else if (has[which])
            stencil_text_add(text, size, " %s%g", with, number[which]);
    }
}

static const char *boundary_text(const stencil_problem *problem, char text[REPORT_BOUNDARY_CHARS]) {
    const int first = STENCIL_AXES - problem->rank;
    bool same = true;
    text[0] = '\0';
    for (int axis = first; axis < STENCIL_AXES; axis++)
        same =
            same && problem->wall[axis][0] == problem->wall[first][0] &&
            problem->wall[axis][1] == problem->wall[first][0] &&
            (!stencil_problem_wall_is_own(problem, axis, 0) || problem->wall[axis][0] == STENCIL_WALL_FIXED);
    if (same)
        snprintf(text, REPORT_BOUNDARY_CHARS, "%s", stencil_wall_names[problem->wall[first][0]]);
    for (int axis = STENCIL_X; axis >= first && !same; axis--) {
        const bool both =
            (!stencil_problem_wall_is_own(problem, axis, 0) &&
             !stencil_problem_wall_is_own(problem, axis, 1)) ||
            (problem->wall[axis][0] == STENCIL_WALL_FIXED && problem->wall[axis][1] == STENCIL_WALL_FIXED);
        for (int side = 0; side < (both ? 1 : 2); side++) {
            stencil_text_add(text, REPORT_BOUNDARY_CHARS, "%s", text[0] != '\0' ? ", " : "");
            add_wall(problem, axis, side, text, REPORT_BOUNDARY_CHARS);
            stencil_text_add(text, REPORT_BOUNDARY_CHARS, both ? " in %c" : " at %c%c", "zyx"[axis],
                             "-+"[side]);
        }
    }
    return text;
}

static const char *device_text(const run_record *run, char text[256]) {
    const stencil_plan *plan = run_record_plan(run);
    if (plan->backend != STENCIL_BACKEND_GPU)
        return plan->device;
    if (stencil_plan_ranks(plan) > 1) {
        const int ranks = stencil_plan_ranks(plan);
        snprintf(text, 256, "%s (GPU%s ", plan->device, stencil_plural(ranks));
        for (int rank = 0; rank < ranks && rank < STENCIL_PARTS_MAX; rank++)
            stencil_text_add(text, 256, "%s%d", rank > 0 ? "," : "", run->gpus.of[rank]);
        return stencil_text_add(text, 256, ranks > STENCIL_PARTS_MAX ? ",…)" : ")");
    }
    snprintf(text, 256, "%s (device%s ", run->machine.gpu[plan->part[0].gpu].name,
             stencil_plural(plan->cut.parts));
    for (int p = 0; p < plan->cut.parts; p++)
        stencil_text_add(text, 256, "%s%d", p > 0 ? "," : "", plan->part[p].gpu);
    return stencil_text_add(text, 256, plan->cut.parts > 1 ? "), %d parts" : ")", plan->cut.parts);
}

static void print_prediction(const stencil_problem *problem) {
    const double steps = stencil_predicted_steps(problem);
    if (isnan(steps) || isinf(steps))
        return;
    const double cycle = stencil_cycle_contraction(problem);
    PRINT("Predicted", "%s%s steps to rtol %s; each %s %.2g of the error %s",
          steps < 1e15 ? "" : "more than ", TEXT_COUNT((int64_t)fmin(steps, 1e15)),
          TEXT_REAL(problem->stop.rtol), isnan(cycle) ? "takes" : "cycle leaves",
          isnan(cycle) ? 1.0 - stencil_contraction(problem) : cycle, isnan(cycle) ? "away" : "at most");
}

void report_print_choice(const run_record *run) {
    const auto_choice *a = &run->choice;
    const stencil_candidate *c = &a->choice.item[a->choice.chosen];
    if (a->choice.possible < 2)
        return;
    if (a->wise)
        PRINT("Chosen", "quickest in an earlier run (wisdom): %s µs per step", TEXT_NUMBER(1e6 * c->step_s));
    else if (a->tune.done)
        PRINT("Chosen", "%s: quickest when timed, %s µs per step", choice_name(c, (char[64]){""}),
              TEXT_NUMBER(1e6 * c->step_s));
    else
        PRINT("Chosen", "quickest of %d ways by prediction: %s µs per step%s", a->choice.possible,
              TEXT_NUMBER(1e6 * c->cost.step_s),
              a->tune.count > 1 ? TEXT("; %d are timed", a->tune.count) : "");
}

/* Wraps `text` in place (returned): between clauses, and within a clause only if it is longer than a line. */
static char *wrap(char *text) {
    enum { ROOM = 67 };
    char *line = text, *divider = NULL;
    int depth = 0;
    for (char *at = text;; at++) {
        depth += (*at == '(') - (*at == ')');
        if (*at != '\0' && (depth > 0 || strncmp(at, ", ", 2) != 0))
            continue;
        char end = *at;
        *at = '\0';
        if (divider != NULL && text_columns(line) + (end != '\0') > ROOM) {
            *divider = '\n';
            line = divider + 1;
        }
        *at = end;
        if (end == '\0')
            return text;
        divider = at + 1;
    }
}

void report_print_head(const run_record *run) {
    const stencil_problem *problem = &run->problem;
    const stencil_plan *plan = run_record_plan(run);
    char boundary[REPORT_BOUNDARY_CHARS], device[256], equation[REPORT_EQUATION_CHARS];
    const stencil_spec *spec = &run->problem.spec;
    PRINT("Input", "%s%s%s", TEXT_ESCAPE(run->output.input_path), spec->field[0] != '\0' ? ", " : "",
          TEXT_ESCAPE(spec->field));
    PRINT("Problem", "%s%s%s, %s cells (%s), %s", stencil_kind_names[problem->spec.kind],
          problem->spec.kind != STENCIL_KIND_NONE ? " on " : "", problem->shape->name,
          TEXT_EXTENT(problem->extent + STENCIL_AXES - problem->rank, problem->rank, " x "),
          problem->rank == 2 ? "x, y" : "x, y, z", stencil_precision_name(problem->precision));
    PRINT("Equation", "%s", wrap(report_equation_text(problem, output_is_ascii(), equation)));
    if (problem->spec.has_k)
        PRINT("Materials", "%s", report_coefficients_text(problem, (char[160]){""}));
    PRINT("Boundary", "%s", boundary_text(problem, boundary));
    report_print_times(problem);
    if (problem->cycle.length > 1)
        PRINT("Damping", "%s: cycles of %d steps", problem->spec.accelerate, problem->cycle.length);
    print_prediction(problem);
    PRINT("Cells", "%s updated in each step%s%s", TEXT_COUNT(stencil_problem_updated_cells(problem)),
          problem->varied > 0
              ? TEXT(", %s of them with weights of their own%s%s", TEXT_COUNT(problem->varied),
                     stencil_problem_has_wide_rows(problem)
                         ? TEXT(" in %s rows", TEXT_COUNT(problem->palette_count))
                         : "",
                     stencil_problem_derives_classes(problem) ? "" : " (/class)")
              : "",
          problem->kept > 0 ? TEXT(", %s kept as they are%s", TEXT_COUNT(problem->kept),
                                   stencil_problem_derives_classes(problem) ? "" : " (/fixed)")
                            : "");
    PRINT("Strategy", "%s, sweep %s, on %s: %s", stencil_strategy_at(plan->strategy).name,
          stencil_sweep_infos[plan->sweep].name, plan->backend == STENCIL_BACKEND_GPU ? "GPU" : "CPU",
          device_text(run, device));
    report_print_passes(run);
    report_print_choice(run);
}
