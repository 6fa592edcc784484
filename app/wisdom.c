/* Wisdom (quickest plans of earlier runs), and the command stencil wisdom, which shows and merges files of
 * wisdom.
 *
 * The body of a file of wisdom is an object that maps device and problem, as a text, to the quickest plan. */

#define _XOPEN_SOURCE 700 /* declares realpath() */
#include "app/choice.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "app/json.h"
#include "app/machine.h"
#include "app/options.h"
#include "app/table.h"
#include "solver/problem/factors.h"

const char *wisdom_path(const char *file, char path[TEXT_NAME_SIZE]) {
    struct stat info;
    if (file == NULL)
        cache_path("wisdom.json", path);
    else
        snprintf(path, TEXT_NAME_SIZE, "%.4000s", strcmp(file, "off") == 0 ? "" : file);
    char *real = lstat(path, &info) == 0 && S_ISLNK(info.st_mode) ? realpath(path, NULL) : NULL;
    if (real != NULL) /* writing then replaces the file that a link points to, not the link */
        snprintf(path, TEXT_NAME_SIZE, "%.4000s", real);
    free(real);
    return path;
}

enum { KEY_SIZE = 768 };

/* Begins a key of wisdom with the devices that may be chosen: the machine's GPUs, with names of the requested
 * GPUs where these differ, and the CPU. */
static void start_key(const stencil_run_options *o, const stencil_machine *machine, char key[KEY_SIZE]) {
    const bool gpu = machine->gpu_count > 0 && o->backend != STENCIL_BACKEND_CPU;
    char device[160];
    snprintf(key, KEY_SIZE, "%s", gpu ? machine_device(machine, true, device) : "");
    const char *before = machine->gpu[0].name;
    for (int i = 0; gpu && i < o->gpu_count; i++) {
        const char *name = machine->gpu[o->gpu[i]].name;
        if (strcmp(name, before) != 0)
            stencil_text_add(key, KEY_SIZE, ", %s", name);
        before = name;
    }
    if (!gpu || o->backend != STENCIL_BACKEND_GPU)
        stencil_text_add(key, KEY_SIZE, "%s%s", gpu ? ", " : "", machine_device(machine, false, device));
}

/* Returns the key of wisdom, all that decides which plan is quickest: devices, problem, and options for
 * plans. */
static const char *key_of(const stencil_run_options *o, const stencil_problem *problem,
                          const stencil_machine *machine, char key[KEY_SIZE]) {
    start_key(o, machine, key);
    stencil_text_add(key, KEY_SIZE, ": %s %s", problem->shape->name,
                     stencil_precision_name(problem->precision));
    for (int axis = STENCIL_X; axis >= STENCIL_AXES - problem->rank; axis--)
        stencil_text_add(key, KEY_SIZE, "%s%" PRId64 " %s", axis == STENCIL_X ? " " : " x ",
                         problem->extent[axis], stencil_boundary_names[problem->boundary[axis]]);
    return stencil_text_add(key, KEY_SIZE,
                            ", %d arrays%s%s, cycle %d, check %" PRId64
                            ", device %s, gpus %d, parts %d, cut %dx%dx%d, halo %s%s, "
                            "%s %s depth %d",
                            stencil_problem_arrays(problem),
                            stencil_problem_has_wide_rows(problem) ? " with wide classes"
                            : stencil_problem_has_classes(problem) ? " with classes"
                                                                   : "",
                            stencil_problem_in_time(problem) ? " in time" : "", problem->cycle.length,
                            problem->stop.check_every, stencil_backend_names[o->backend], o->gpu_count,
                            o->parts, o->cut[0], o->cut[1], o->cut[2], stencil_halo_names[o->halo],
                            o->overlap ? " overlap" : "", o->sync != NULL ? o->sync : "auto",
                            o->sweep != NULL ? o->sweep : "auto", o->depth);
}

static bool is_entry(const stencil_candidate *c, const json_t *entry) {
    const char *sync = json_string_value(json_object_get(entry, "sync")),
               *sweep = json_string_value(json_object_get(entry, "sweep"));
    return sync != NULL && sweep != NULL && strcmp(sync, c->options.sync) == 0 &&
           strcmp(sweep, c->options.sweep) == 0 &&
           json_integer_value(json_object_get(entry, "parts")) == c->plan.cut.parts &&
           json_is_true(json_object_get(entry, "gpu")) == (c->plan.backend == STENCIL_BACKEND_GPU);
}

/* Tells whether an entry's measured times are certain; on a busy machine they are not, and the next run
 * measures. */
static bool is_certain(const json_t *entry) {
    static const double noise = 0.1;
    static const int samples_least = 3;
    const double step_us = json_number_value(json_object_get(entry, "step_us"));
    return json_integer_value(json_object_get(entry, "samples")) >= samples_least &&
           json_number_value(json_object_get(entry, "spread_us")) < noise * step_us;
}

int wisdom_find(const char *path, stencil_choice *choice, const stencil_problem *problem,
                const stencil_machine *machine, stencil_notes *notes) {
    char key[KEY_SIZE], build[96];
    json_t *entries = cache_read(path, "wisdom", NULL, notes);
    const json_t *entry = json_object_get(entries, key_of(&choice->asked, problem, machine, key));
    const char *of = json_string_value(json_object_get(entry, "build"));
    int found = -1;
    machine_build(machine, machine->gpu_count > 0, build);
    if (entry != NULL && (of == NULL || strcmp(of, build) != 0))
        stencil_notes_add(notes, "wisdom '%s' is ignored for this problem: it is of another driver or build",
                          path);
    else
        for (int i = 0; i < choice->possible && is_certain(entry) && found < 0; i++)
            if (is_entry(&choice->item[i], entry))
                found = i;
    if (found >= 0)
        choice->item[found].step_s = 1e-6 * json_number_value(json_object_get(entry, "step_us"));
    json_decref(entries);
    return found;
}

/* Returns when an entry was measured, in seconds since 1970; 0 for times in the future, which would stay
 * newest. */
static json_int_t measured_at(const json_t *entry) {
    const json_int_t at = json_integer_value(json_object_get(entry, "measured"));
    return at <= (json_int_t)time(NULL) ? at : 0;
}

/* Tells whether an entry replaces the entry `old` (NULL: none). Of equal builds, a certain entry beats an
 * uncertain entry; else the newer entry wins. */
static bool is_better(const json_t *entry, const json_t *old) {
    const bool same = json_equal(json_object_get(entry, "build"), json_object_get(old, "build"));
    if (old == NULL || (same && is_certain(entry) != is_certain(old)))
        return old == NULL || is_certain(entry);
    return measured_at(entry) >= measured_at(old);
}

static void merge(json_t *into, const json_t *from) {
    const char *key;
    json_t *entry;
    json_object_foreach((json_t *)from, key, entry) if (is_better(entry, json_object_get(into, key)))
        json_object_set(into, key, entry);
}

/* Reads a wisdom file that entries are added to. *all is NULL where the file is missing or empty, or is the
 * cache's own and damaged: it is then written anew. Other versions and other files are errors. */
static stencil_status open_to_add(const char *path, bool named, json_t **all) {
    struct stat info;
    const stencil_status status = cache_open(path, "wisdom", NULL, all);
    if (status == STENCIL_BAD_DATA && (!named || (stat(path, &info) == 0 && info.st_size == 0)))
        return STENCIL_OK;
    return text_prefix(status, TEXT_LONG("'%s' is not replaced", path));
}

stencil_status wisdom_check(const char *option, const char *path) {
    json_t *all;
    CHECK(strcmp(path, "-") != 0, USAGE, "--%s -: wisdom is a file, ./- one that is called -", option);
    const stencil_status status = open_to_add(path, true, &all);
    json_decref(all);
    return text_prefix(status, TEXT("--%s", option));
}

/* Adds entries (borrowed) to a wisdom file under its lock; *all (owned by the caller): all entries after
 * that. */
static stencil_status add(const char *path, bool named, const json_t *entries, json_t **all) {
    int lock = -1;
    stencil_status status = cache_lock(path, &lock);
    if (status == STENCIL_OK)
        status = open_to_add(path, named, all);
    if (status == STENCIL_OK) {
        *all = *all != NULL ? *all : json_object();
        merge(*all, entries);
        status = cache_write(path, "wisdom", NULL, json_incref(*all));
    }
    cache_unlock(lock);
    return status;
}

stencil_status wisdom_keep(const char *path, bool named, const stencil_choice *choice,
                           const stencil_problem *problem, const stencil_machine *machine) {
    const stencil_candidate *c = &choice->item[choice->chosen];
    char key[KEY_SIZE], build[96];
    json_t *all = NULL, *entries = json_object();
    json_object_set_new(
        entries, key_of(&choice->asked, problem, machine, key),
        json_pack("{s:s, s:s, s:b, s:i, s:f, s:f, s:i, s:s, s:I}", "sync", c->options.sync, "sweep",
                  c->options.sweep, "gpu", c->plan.backend == STENCIL_BACKEND_GPU, "parts", c->plan.cut.parts,
                  "step_us", 1e6 * c->step_s, "spread_us", 1e6 * c->spread_s, "samples", c->samples, "build",
                  machine_build(machine, machine->gpu_count > 0, build), "measured", (json_int_t)time(NULL)));
    const stencil_status status = add(path, named, entries, &all);
    json_decref(entries);
    json_decref(all);
    return status;
}

typedef struct wisdom_options {
    const char *into;
    bool quiet;
} wisdom_options;

#define AT(field) OPTION_AT(wisdom_options, field)
static const option wisdom_table[] = {
    {.heading = "Options"},
    {"into", 0, OPTION_TEXT, AT(into), "FILE",
     .help = "add it to this file (default: this user's, in $XDG_CACHE_HOME/stencil or ~/.cache/stencil)"},
    {"quiet", 'q', OPTION_FLAG, AT(quiet), NULL, .help = "print nothing"},
    {NULL},
};

/* Prints wisdom as a table, a row for each problem; a column of options only if any entry has options. */
static void print_entries(json_t *entries) {
    table t = {0};
    const char *key;
    json_t *entry;
    table_add_columns(&t, "<plan\t>µs/step\t<problem");
    json_object_foreach(entries, key, entry) {
        const char *sync = json_string_value(json_object_get(entry, "sync")),
                   *sweep = json_string_value(json_object_get(entry, "sweep")),
                   *open = strstr(key, ", device auto, gpus 0, parts 0, cut 0x0x0, halo auto, auto auto");
        const bool gpu = json_is_true(json_object_get(entry, "gpu"));
        const json_int_t parts = json_integer_value(json_object_get(entry, "parts"));
        const int length = open != NULL ? (int)(open - key) : (int)strlen(key);
        table_add_line(&t, "%.40s\t%s\t" TABLE_SPAN "%s",
                       TEXT_ESCAPE(TEXT("%s, %s, %s", sync != NULL ? sync : "?", sweep != NULL ? sweep : "?",
                                        !gpu        ? "CPU"
                                        : parts > 1 ? TEXT("%lld GPUs", (long long)parts)
                                                    : "GPU")),
                       TEXT_NUMBER(json_number_value(json_object_get(entry, "step_us"))),
                       TEXT_ESCAPE(TEXT_LONG("%.*s", length, key)));
    }
    if (t.row_count > 0) {
        fputc('\n', stdout);
        table_print(stdout, &t);
    }
}

/* Finds the path of the wisdom file to show or to add to. */
static stencil_status find_target(const char *into, char path[TEXT_NAME_SIZE]) {
    CHECK(into == NULL || strcmp(into, "off") != 0, USAGE,
          "--into off: wisdom is a file, ./off one that is called off");
    wisdom_path(into, path);
    CHECK(path[0] != '\0', CANNOT_CREATE,
          "no place for wisdom: neither XDG_CACHE_HOME nor HOME is set: give --into FILE");
    return into != NULL ? wisdom_check("into", path) : STENCIL_OK;
}

/* Runs `stencil wisdom`; a named file that cannot be read as wisdom is an error. */
static stencil_status wisdom_run(invocation *call) {
    const wisdom_options *options = call->values;
    char path[TEXT_NAME_SIZE];
    stencil_notes notes = {0};
    stencil_status status = STENCIL_OK;
    TRY(find_target(options->into, path));
    json_t *entries = json_object(), *all = NULL;
    for (int i = 0; i < call->operand_count && status == STENCIL_OK; i++) {
        json_t *added = cache_read(call->operand[i], "wisdom", NULL, &notes);
        if (added == NULL)
            status = notes.count > 0 ? ERROR(BAD_DATA, "%s", notes.line[0])
                                     : ERROR(NO_INPUT, "'%s' cannot be read: no such file", call->operand[i]);
        merge(entries, added);
        json_decref(added);
    }
    if (status == STENCIL_OK && call->operand_count > 0)
        status = add(path, options->into != NULL, entries, &all);
    else if (status == STENCIL_OK)
        all = cache_read(path, "wisdom", NULL, &notes);
    if (status == STENCIL_OK && !options->quiet) {
        PRINT("Wisdom", "%s\n%s%s", TEXT_ESCAPE(path),
              TEXT_COUNTED((int64_t)json_object_size(all), "problem"),
              notes.count > 0 ? TEXT("; %s", notes.line[0]) : "");
        print_entries(all);
    }
    json_decref(entries);
    json_decref(all);
    return status;
}

const command command_wisdom = {
    .name = "wisdom",
    .usage = "wisdom [options] [FILE ...]",
    .summary = "shows which plans were the quickest here, and merges such files",
    .details = "A run that leaves the plan open (--sync auto) measures the most promising ones and keeps "
               "what it finds. FILEs are added, the newer entry for a problem wins, unless it is an "
               "uncertain one; stencil run --wisdom FILE uses one without that.",
    .options = wisdom_table,
    .values_size = sizeof(wisdom_options),
    .operand_max = OPTION_OPERANDS_MAX,
    .run = wisdom_run,
};
