#include "app/resume.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/keeper.h"
#include "app/text.h"
#include "solver/problem/classes.h"
#include "solver/problem/coefficients.h"
#include "solver/problem/origin.h"

/* Opens a file and reads how it was made, and all of its cells: they must be those of its digests. */
static stencil_status check_open(const char *path, const stencil_input_options *how, stencil_input *input,
                                 stencil_problem *problem, stencil_provenance *made) {
    stencil_spec spec;
    char changed[REPORT_ARRAYS];
    TRY(stencil_input_open(input, path, how, &spec));
    TRY(text_name_file(stencil_problem_resolve(problem, &spec), path));
    TRY(stencil_input_provenance(input, made));
    CHECK(spec.digest_u[0] != '\0', BAD_DATA,
          "'%s' has no attribute digest_u: an older version of stencil wrote it, run it as an input", path);
    const stencil_reader cells = stencil_input_reader(input, problem, true);
    TRY(text_name_file(stencil_coefficients_find(problem, &spec, &cells), path));
    TRY(stencil_input_load_history(input, problem));
    CHECK(problem->origin.steps > 0 || spec.steps_total == 0, BAD_DATA,
          "'%s' is damaged: its problem is not that of its steps (fingerprint)", path);
    TRY(text_name_file(stencil_classes_find(problem, &cells, &input->tables), path));
    TRY(stencil_origin_check(problem, &cells));
    CHECK(problem->origin.arrays != STENCIL_ORIGIN_LOST, BAD_DATA,
          "'%s' is damaged: of digest_u, digest_b and fingerprint it has some and others not", path);
    CHECK(spec.steps_total == 0 || problem->origin.arrays == STENCIL_ORIGIN_SAME, BAD_DATA,
          "'%s' is damaged, or was changed: the cells of %s are not those that a run has written (digest_u, "
          "digest_b, digest_class)",
          path, report_changed_arrays(problem, changed));
    TRY(report_check_numbers(path, &spec, &problem->origin.history, made));
    return stencil_input_check_unchanged(input);
}

static stencil_status check(const char *path, const stencil_input_options *how, stencil_provenance *made) {
    stencil_input input = {0};
    stencil_problem problem = {0};
    const stencil_status status =
        text_name_out_of_memory(check_open(path, how, &input, &problem, made), path);
    const stencil_error seen = *stencil_error_last();
    stencil_problem_destroy(&problem);
    stencil_input_close(&input);
    return status != STENCIL_OK ? stencil_error_adopt(&seen) : STENCIL_OK;
}

/* Checks the file r->path. */
static stencil_status check_path(resumption *r, const stencil_input_options *how) {
    if (stat(r->path, &r->seen) != 0)
        r->seen = (struct stat){0};
    return check(r->path, how, &r->made);
}

stencil_status resume_check_unchanged(const resumption *r) {
    struct stat now;
    CHECK(r == NULL || (stat(r->path, &now) == 0 && now.st_dev == r->seen.st_dev &&
                        now.st_ino == r->seen.st_ino && now.st_mtim.tv_sec == r->seen.st_mtim.tv_sec &&
                        now.st_mtim.tv_nsec == r->seen.st_mtim.tv_nsec),
          BAD_DATA, "'%s' was replaced by a newer one while it was read: resume it again", r->path);
    return STENCIL_OK;
}

bool resume_is_superseded(const resumption *r, const char *output) {
    struct stat result;
    const struct timespec *made = &result.st_mtim, *seen = &r->seen.st_mtim;
    return stat(output, &result) == 0 &&
           (made->tv_sec != seen->tv_sec ? made->tv_sec > seen->tv_sec : made->tv_nsec > seen->tv_nsec);
}

/* Finds the file to go on from: the one asked for or, where that is a damaged checkpoint, the one before. */
static stencil_status find(resumption *r, const char *asked, const stencil_input_options *how) {
    CHECK(strlen(asked) < sizeof r->path, NO_INPUT, "cannot open '%s': the name is too long", asked);
    snprintf(r->path, sizeof r->path, "%s", asked);
    const stencil_status status = check_path(r, how);
    const bool damaged = status == STENCIL_BAD_DATA || status == STENCIL_NO_INPUT;
    if (!damaged || !stencil_checkpoint_is_last(asked, r->path))
        return status;
    const stencil_error seen = *stencil_error_last();
    if (check_path(r, how) != STENCIL_OK) {
        const stencil_error before = *stencil_error_last();
        return before.status == STENCIL_NO_INPUT && access(r->path, F_OK) != 0
                   ? stencil_error_adopt(&seen)
                   : stencil_error_set(seen.status, __FILE__, __LINE__, "",
                                       "%s; nor can the run go on from the checkpoint before it: %s",
                                       seen.message, before.message);
    }
    r->fell_back = true;
    fprintf(stderr, "stencil: %s; going on from the checkpoint before it, '%s'\n", TEXT_ESCAPE(seen.message),
            TEXT_ESCAPE(r->path));
    return STENCIL_OK;
}

/* Names the result: it lies beside its checkpoint, whose folder may have been moved. */
static stencil_status name_output(resumption *r) {
    const char *last = stencil_path_last(r->path);
    r->in_place = r->made.output[0] == '\0';
    const int length = r->in_place ? snprintf(r->output, sizeof r->output, "%s", r->path)
                                   : snprintf(r->output, sizeof r->output, "%.*s%s", (int)(last - r->path),
                                              r->path, stencil_path_last(r->made.output));
    CHECK(length > 0 && length < (int)sizeof r->output, USAGE, "'%s': the name of the result is too long",
          r->path);
    return STENCIL_OK;
}

/* Finds the option of the command that a recorded word is of: "--name=value" or "--name". */
static bool is_recorded(const option *table, const char *word) {
    const size_t length = strncmp(word, "--", 2) == 0 ? strcspn(word + 2, "=") : 0;
    for (const option *o = table; o->name != NULL || o->heading != NULL || o->table != NULL; o++) {
        if (o->table != NULL && is_recorded(o->table, word))
            return true;
        if (o->name != NULL && o->tag == OPTION_RESUMED && strlen(o->name) == length &&
            strncmp(o->name, word + 2, length) == 0 && (o->type == OPTION_FLAG) == (word[length + 2] == '\0'))
            return true;
    }
    return false;
}

/* Finds the file, and names the result: rank 0 reads all of it, and tells the others what it has found. */
static stencil_status find_for_all(resumption *r, const invocation *call, const stencil_input_options *how) {
    stencil_world *world = call->world;
    stencil_status status = STENCIL_OK;
    if (stencil_world_leads(world)) {
        status = find(r, call->operand[0], how);
        if (status == STENCIL_OK)
            status = name_output(r);
    }
    TRY(stencil_world_heed(world, status));
    stencil_world_tell(world, 0, r, sizeof *r); /* r->argv is not made yet */
    return STENCIL_OK;
}

/* Makes the list of words to parse: those that the file records, then those of the command line. */
static stencil_status join(resumption *r, const invocation *call) {
    int given = 0, count = 0, words = 1;
    while (call->argv[given] != NULL)
        given++;
    memcpy(r->options, r->made.options, sizeof r->options);
    for (const char *c = r->options; *c != '\0'; c++)
        words += *c == '\n';
    r->argv = calloc((size_t)(given + words + 1), sizeof *r->argv);
    CHECK(r->argv != NULL, NO_MEMORY, "no memory for the options of '%s'", r->path);
    for (char *rest = r->options, *word; (word = strtok_r(rest, "\n", &rest)) != NULL;) {
        CHECK(is_recorded(call->command->options, word), BAD_DATA,
              "'%s': attribute 'options' of /provenance has '%.60s', which a run does not record", r->path,
              word);
        r->argv[count++] = word;
    }
    memcpy(r->argv + count, call->argv, (size_t)given * sizeof *r->argv);
    return STENCIL_OK;
}

stencil_status resume_check_idle(const char *path) {
    char result[PATH_MAX];
    stencil_claim claim;
    stencil_checkpoint_result(path, result);
    TRY(stencil_claim_take(&claim, result));
    stencil_claim_release(&claim); /* the run claims the name that the file records */
    return STENCIL_OK;
}

stencil_status resume_begin(resumption **resumed, invocation *call, const reading_options *reading,
                            int64_t threads) {
    const stencil_input_options how = reading_options_of(reading, NULL);
    resumption *r = *resumed = calloc(1, sizeof *r);
    CHECK(r != NULL, NO_MEMORY, "no memory to resume '%s'", call->operand[0]);
    TRY(threads_start(threads));
    TRY(find_for_all(r, call, &how));
    TRY(join(r, call));
    const char *line = call->command_line;
    stencil_world *world = call->world;
    TRY(options_parse(call->command, r->argv, call->values, call));
    call->command_line = line;
    call->world = world;
    call->operand[0] = r->path;
    return STENCIL_OK;
}

void resume_end(resumption *r) {
    if (r != NULL)
        free(r->argv);
    free(r);
}

stencil_status resume_options_text(const invocation *call, unsigned tag, bool force, char text[4096]) {
    text[0] = '\0';
    for (const option_given *g = call->given; g < call->given + call->given_count; g++)
        if (g->option->tag == tag)
            stencil_text_add(text, 4096, "--%s%s%s\n", g->option->name, g->text != NULL ? "=" : "",
                             g->text != NULL ? g->text : "");
    if (force && strstr(text, "--force\n") == NULL)
        stencil_text_add(text, 4096, "--force\n");
    CHECK(strlen(text) < 4000, USAGE, "the options are too long to be kept in checkpoints");
    return STENCIL_OK;
}
