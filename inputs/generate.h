/* Creation of new problem files, for `stencil new`. */
#pragma once

#include <signal.h>

#include "solver/problem/problem.h"

/* Kinds of initial values, before multiplication by the amplitude. The mode m_a(i) of axis a with N cells is
 * sin(pi i/(N-1)) on a fixed axis, sin(2 pi i/N) on a periodic one, cos(pi (i + 1/2)/N) on a mirrored one. */
typedef enum stencil_initial {
    STENCIL_INITIAL_ZERO,
    STENCIL_INITIAL_RANDOM,   /* uniform in [0, 1): stencil_random_number() k (philox/philox.h) belongs to
                                 cell k in array order */
    STENCIL_INITIAL_HOT_EDGE, /* 1 in the first row (2D, y = 0) or plane (3D, z = 0), else 0 */
    STENCIL_INITIAL_SINE,     /* product of the modes of all axes */
    STENCIL_INITIAL_COUNT
} stencil_initial;

/* Names of the initial values: "zero", "random", "hot-edge", "sine", NULL. */
extern const char *const stencil_initial_names[STENCIL_INITIAL_COUNT + 1];

typedef enum stencil_generate_source {
    STENCIL_GENERATE_SOURCE_AUTO, /* manufactured for problem poisson, none otherwise */
    STENCIL_GENERATE_SOURCE_NONE,
    /* /f = (sum of k_a^2) * product of the modes, whose solution is the product of the modes; k_a is
     * pi/((N-1) h), 2 pi/(N h), pi/(N h) on fixed, periodic, mirrored axes. On the unit square with fixed
     * boundaries: f = 2 pi^2 sin(pi x) sin(pi y). */
    STENCIL_GENERATE_SOURCE_MANUFACTURED,
    STENCIL_GENERATE_SOURCE_COUNT
} stencil_generate_source;

/* Names of the sources: "auto", "none", "manufactured", NULL. */
extern const char *const stencil_generate_source_names[STENCIL_GENERATE_SOURCE_COUNT + 1];

/* Problems that show what a file can say. */
typedef enum stencil_example {
    STENCIL_EXAMPLE_NONE,
    /* A plate, 0 on its edge and around a round hole in its middle, with two round electrodes of the values 1
     * and -1 beside the hole: /fixed has hole and electrodes. In 3D they go through the plate along z. */
    STENCIL_EXAMPLE_PLATE_WITH_HOLE,
    /* Heat in ten hours in a wall of masonry, 24 cm thick along x, in metres, seconds and degrees: heated on
     * one side by a flux, on the other side cold air, with which it exchanges; /insulated has two cavities.
     */
    STENCIL_EXAMPLE_HEATED_WALL,
    /* The section of a chip: /fixed has four heaters of the value 1, heat leaves it below by a flux, at the
     * last row; other sides are mirrors. */
    STENCIL_EXAMPLE_CHIP,
    /* A plate from 1 on the left to 0 on the right, mirrored on other sides, with a disc that conducts ten
     * times as well: /class has the row of /stencil/weights of each cell, one for each way in which the disc
     * is among a cell and its neighbours. In 3D the disc goes through the plate along z. */
    STENCIL_EXAMPLE_TWO_MATERIALS,
    /* Heat in a plate of aluminium, 10 cm wide, in metres, seconds and degrees, whose heater in the middle is
     * on for ten seconds: /q and /q_factor. */
    STENCIL_EXAMPLE_SWITCHED_SOURCE,
    /* Heat in ten hours through the wall of heated-wall, of which /k makes two materials: masonry, and two
     * anchors of steel from side to side. */
    STENCIL_EXAMPLE_MASONRY,
    STENCIL_EXAMPLE_COUNT
} stencil_example;

/* Names of the examples: "none", "plate-with-hole", "heated-wall", "chip", "two-materials",
 * "switched-source", "masonry", NULL. */
extern const char *const stencil_example_names[STENCIL_EXAMPLE_COUNT + 1];

/* Sets what an example has by default in a spec that has its extent: problem, sides, physics, datasets. */
void stencil_example_begin(stencil_example which, stencil_spec *spec);

typedef struct stencil_generate_options {
    const char *path; /* path of the new file */
    bool force;       /* whether an existing file may be replaced */
    /* Rank, extent, precision, stencil or problem, boundary, stop rule, … of the new file; spec.source is
     * ignored. For a problem without spacing the domain has length 1 on every axis: h = 1/(N-1) on fixed axes
     * (cells lie on both ends), 1/N on periodic ones (cell N is cell 0) and mirrored ones (the mirror lies
     * half a cell outside). */
    stencil_spec spec;
    stencil_example example; /* decides /u and a mask, in place of `initial` and `amplitude` */
    stencil_initial initial;
    uint64_t seed; /* seed of random initial values */
    /* GPU 0, where there is one that can be used, makes random initial values of at least as many cells, with
     * the same bits as the host; 0: the host does always. *on_gpu: whether it did; NULL: nobody asks. */
    int64_t gpu_cells;
    bool *on_gpu;
    double amplitude; /* factor of the initial values; 1 is usual */
    stencil_generate_source source;
    const volatile sig_atomic_t *interrupt; /* a value other than 0 stops between two blocks; NULL: never */
} stencil_generate_options;

/* Generates a problem file block by block, so that it may be larger than memory. The file appears whole under
 * its final name or not at all. Errors: BAD_DATA: a problem that could not be solved (as
 * stencil_problem_resolve()), an amplitude that is not finite. USAGE: a manufactured source for another
 * problem than poisson. INTERRUPTED: on request, before the file was complete. CANNOT_CREATE, IO: as
 * stencil_output_open(). */
stencil_status stencil_generate(const stencil_generate_options *options);
