#include "app/run_options.h"

#include <string.h>

#include "app/machine.h"
#include "app/text.h"

#define AT(field) OPTION_AT(run_options, field)
const option run_option_table[] = {
    {.heading = "Where and how"},
    {"sync", 0, OPTION_NAME, AT(run.sync), "NAME",
     .help = "how steps are kept in order; auto: as is quickest, also on fewer GPUs than --gpus allows, or "
             "on the CPU (on several GPUs grid means multi-grid)",
     .names = choice_syncs, .preset = "auto", .automatic = true},
    {"sweep", 0, OPTION_NAME, AT(run.sweep), "NAME", .help = "how a step is made; the result is the same",
     .names = choice_sweeps, .preset = "auto", .automatic = true},
    {DEPTH_OPTION(run_options, run.depth)},
    {"effort", 0, OPTION_CHOICE, AT(open.effort), "HOW",
     .help = "what auto goes by: estimate, what is predicted; measure, the best two or three timed in the "
             "run's first steps; patient, more of them for longer; exhaustive, all of them",
     .preset = "measure", .names = stencil_effort_names},
    {"wisdom", 0, OPTION_TEXT, AT(open.wisdom), "FILE",
     .help = "where auto finds and keeps what was measured; off: nowhere (default: wisdom.json in "
             "$XDG_CACHE_HOME/stencil or ~/.cache/stencil)"},
    {"explain", 0, OPTION_FLAG, AT(explain), NULL,
     .help = "print all plans with their times, and why they were not chosen"},
    {"device", 0, OPTION_CHOICE, AT(run.backend), "WHERE", .help = "auto takes a GPU where there is one",
     .preset = "auto", .names = stencil_backend_names},
    {"gpus", 'g', OPTION_DEVICES, AT(run.gpu), "N|LIST",
     .help = "how many (2), or which ones (0,2 or 2,); each gets a part of the field, and one named several "
             "times (0,0) that many; means --device gpu",
     .contradicts = {"device cpu"}, .count_offset = offsetof(run_options, run.gpu_count)},
    {THREADS_OPTION(run_options, threads)},
    {.heading = "Several GPUs"},
    {"parts", 0, OPTION_INTEGER, AT(run.parts), "N",
     .help = "cut a run on the CPU as one on N GPUs is; means --device cpu",
     .contradicts = {"gpus", "device gpu"}, .because = "--parts cuts a run on the CPU", .minimum = 1,
     .maximum = STENCIL_PARTS_MAX},
    {"cut", 0, OPTION_INTEGER, AT(run.cut), "LIST",
     .help = "parts along each axis, in array order, as in 4,1 (default: along the slowest axis, or along "
             "the one or two where fewer bytes cross)",
     .minimum = 1, .maximum = STENCIL_PARTS_MAX, .most = STENCIL_AXES,
     .count_offset = offsetof(run_options, cut_count)},
    {"halo", 0, OPTION_CHOICE, AT(run.halo), "HOW",
     .help = "how ghost cells get to other parts: stored by the kernel, copied (openmp, single-thread), or "
             "sent in words that carry their step (ll; neighbor on GPUs); ranks of mpirun send messages "
             "(message), with a GPU each by NCCL, too (nccl)",
     .preset = "auto", .names = stencil_halo_names,
     .renamed = (const char *const[]){"peer", "store", "stamped", "ll", NULL}},
    {"overlap", 0, OPTION_FLAG, AT(run.overlap), NULL,
     .help =
         "openmp, single-thread, and ranks of mpirun: compute what others need first, copy or send it while "
         "the rest is computed"},
    {.heading = "Input"},
    {"field", 0, OPTION_TEXT, AT(field), "NAME", .help = FIELD_HELP},
    {"allow-nonfinite", 0, OPTION_FLAG, AT(allow_nonfinite), NULL, .help = "accept NaN and Inf in the input",
     .tag = OPTION_RESUMED},
    {"allow-unwritten", 0, OPTION_FLAG, AT(allow_unwritten), NULL,
     .help = "accept cells of u that nobody wrote, with the fill value"},
    {READING_OPTIONS(run_options, reading)},
    {.heading = "When to stop (overrides the file's attributes)",
     .table = stop_option_table,
     .offset = offsetof(run_options, problem)},
    {.heading = "Problem (overrides the file's attributes)",
     .table = problem_option_table,
     .offset = offsetof(run_options, problem)},
    {.heading = "Output"},
    {"output", 'o', OPTION_TEXT, AT(files.output), "FILE",
     .help = "result (default: INPUT with .out.h5 for .h5; of a result .out2.h5, then .out3.h5 …); INPUT "
             "itself, with --force, goes on in place: the result replaces it when it is complete"},
    {"force", 'f', OPTION_FLAG, AT(files.force), NULL,
     .help = "replace existing files, INPUT included where it is the output; with --resume: a series that is "
             "lost "
             "or damaged by a new one",
     .tag = OPTION_RESUMED},
    {"no-output", 0, OPTION_FLAG, AT(files.no_output), NULL, .help = "write no result",
     .contradicts = {"output"}},
    {.heading = "Long runs"},
    {"resume", 0, OPTION_FLAG, AT(resume), NULL,
     .help =
         "go on from the checkpoint or result INPUT, with its options and its result, to the same bits as "
         "a run that was never interrupted; options about where and how are chosen anew"},
    {KEEPER_OPTIONS(run_options, keeper)},
    {"scrub", 0, OPTION_TEXT, AT(scrub), "SHARE",
     .help =
         "make random tiles of the field again on a CPU thread and compare bits, for at most SHARE of the "
         "steps' time (1%, on: 0.5%, off): a difference, a fault of the hardware, ends the run, exit code "
         "70",
     .tag = OPTION_RESUMED},
    {.heading = "Report"},
    {"json", 0, OPTION_TEXT, AT(files.json), "FILE",
     .help = "write the report as JSON; - writes it to standard output in place of the report for people"},
    {"attribute", 0, OPTION_FLAG, AT(attribute), NULL,
     .help = "tell where the time went: batches of steps are made after the run for it, and thrown away",
     .contradicts = {"dry-run"}, .because = "a dry run makes no steps"},
    {"trace", 0, OPTION_TEXT, AT(files.trace), "FILE",
     .help = "write what every thread, block or SM did in some steps made after the run, as Chrome trace "
             "events, for Perfetto",
     .contradicts = {"dry-run"}, .because = "a dry run makes no steps"},
    {"dry-run", 0, OPTION_FLAG, AT(open.dry_run), NULL,
     .help = "print memory, partitions and launch shape, then stop"},
    {"machine", 0, OPTION_TEXT, AT(machine), "FILE",
     .help = "plan for the machine that stencil info --json has described there, not for this one",
     .needs = "dry-run"},
    {"quiet", 'q', OPTION_FLAG, AT(open.quiet), NULL,
     .help = "print neither report nor progress, and of the notes only those that change what the result "
             "means, on standard error; twice (-qq): none of them"},
    /* The options that follow test barriers, and what finds faults, before they are trusted. */
    {.heading = "Barriers of persistent loops, and faults for tests"},
    {"barrier-timeout", 0, OPTION_REAL, AT(run.wait.timeout_s), "S",
     .help = "a block that waits longer than this for others ends the run, exit code 70", .preset = "10",
     .maximum = 1000000000, .positive = true},
    {RANK_TIMEOUT_OPTION(run_options, rank_timeout_s)},
    {"inject-delay", 0, OPTION_INTEGER, AT(run.wait.fault.delay_ns), "NS",
     .help = "make a random quarter of the blocks late by up to NS nanoseconds before each barrier; the "
             "result must not change",
     .minimum = 1, .maximum = 1000000000},
    {"inject-latency", 0, OPTION_INTEGER, AT(latency_ns), "NS",
     .help =
         "under mpirun, on one host: each message of an exchange arrives NS nanoseconds late, as over a slow "
         "link; the result must not change",
     .minimum = 1, .maximum = 10000000},
    {"inject-seed", 0, OPTION_INTEGER, AT(run.wait.fault.seed), "N",
     .help = "of who is late and how much (1)", .needs = "inject-delay", .minimum = 0, .maximum = UINT32_MAX},
    {"inject-late", 0, OPTION_INTEGER, AT(late), "N",
     .help = "with --inject-delay: not a random quarter of the blocks is late, but block N (on a CPU: thread "
             "N) at every barrier, by NS",
     .needs = "inject-delay", .minimum = 0, .maximum = INT32_MAX - 1},
    {"inject-absent", 0, OPTION_INTEGER, AT(run.wait.fault.absent_step), "STEP",
     .help = "block 1 never arrives after step STEP: the run must end with exit code 70", .minimum = 1,
     .maximum = INT64_MAX},
    {"inject-illegal", 0, OPTION_INTEGER, AT(run.wait.illegal_step), "STEP",
     .help = "a kernel on GPU 0 writes to an illegal address before step STEP: likewise", .minimum = 1,
     .maximum = INT64_MAX},
    {"inject-flip", 0, OPTION_INTEGER, AT(run.wait.flip_step), "STEP",
     .help =
         "memory has a wrong bit in a cell after each batch of steps from step STEP on: --scrub must find "
         "it, exit code 70",
     .minimum = 1, .maximum = INT64_MAX},
    {"inject-flip-cell", 0, OPTION_INTEGER, AT(run.wait.flip_cell), "LIST",
     .help = "with --inject-flip: in that cell, in array order (default: in the middle)", .minimum = 0,
     .maximum = INT64_MAX, .most = STENCIL_AXES, .needs = "inject-flip",
     .count_offset = offsetof(run_options, flip_count)},
    {"inject-absent-part", 0, OPTION_INTEGER, AT(absent_part), "N",
     .help = "with --inject-absent: not block 1, but all blocks of part N (from 0 on)",
     .needs = "inject-absent", .minimum = 0, .maximum = STENCIL_PARTS_MAX - 1},
    {NULL},
};

stencil_status run_options_complete(const invocation *call, int rank, stencil_run_options *run) {
    const run_options *options = call->values;
    *run = options->run;
    run->wait.fault.absent = 1;
    if (!options_given(call, "inject-seed"))
        run->wait.fault.seed = 1;
    if (options_given(call, "inject-late"))
        run->wait.fault.late = 1 + (uint32_t)options->late;
    if (options_given(call, "inject-absent-part"))
        run->wait.fault.absent_part = 1 + (uint32_t)options->absent_part;
    CHECK(options->cut_count == 0 || options->cut_count == rank, USAGE,
          "--cut: the field has %d axes: give a number of parts for each, such as %s", rank,
          rank == 2 ? "4,1" : "2,2,1");
    int64_t *flip = run->wait.flip_cell;
    CHECK(options->flip_count == 0 || options->flip_count == rank, USAGE,
          "--inject-flip-cell: the field has %d axes: give an index along each", rank);
    if (options->flip_count == 0)
        flip[STENCIL_Z] = flip[STENCIL_Y] = flip[STENCIL_X] = -1;
    if (options->flip_count == 2)
        memcpy(flip, (const int64_t[]){0, flip[0], flip[1]}, STENCIL_AXES * sizeof *flip);
    if (options->cut_count == 2)
        memcpy(run->cut, (const int[]){1, run->cut[0], run->cut[1]}, sizeof run->cut);
    return STENCIL_OK;
}
