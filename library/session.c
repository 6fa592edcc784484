/* Sessions, and what calls of the library borrow of the thread that makes them. */
#include "library/inside.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cuda.h"
#include "kernels/points.h"
#include "solver/run/calibrate.h"

/* The process in which this thread has used a team of threads; 0: none. A child of that process has the
 * thread, but not its team, for which OpenMP would wait. */
static _Thread_local pid_t team_of;

static bool lost_team(void) {
    return team_of != 0 && team_of != getpid();
}

uint32_t stencil_abi(void) {
    return STENCIL_ABI;
}

const char *stencil_version(void) {
    return STENCIL_VERSION;
}

const char *stencil_list(const char *list, int32_t index) {
    const struct {
        const char *name;
        const char *const *entry;
    } lists[] = {{"sync", stencil_strategy_names},     {"sweep", stencil_sweep_names},
                 {"problem", stencil_kind_names},      {"stencil", stencil_shape_names},
                 {"boundary", stencil_boundary_names}, {"side", stencil_wall_names},
                 {"norm", stencil_norm_names},         {"effort", stencil_effort_names},
                 {"array", stencil_given_names}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists && list != NULL && index >= 0; i++) {
        const char *const *entry = lists[i].entry;
        if (strcmp(list, lists[i].name) != 0)
            continue;
        entry += entry[0] != NULL && entry[0][0] == '\0'; /* the name of "not given" */
        for (; *entry != NULL && index > 0; index--)
            entry++;
        return *entry;
    }
    return NULL;
}

stencil_status stencil_visit_enter(stencil_visit *visit, const stencil_session_t *session) {
    CHECK(session != NULL, USAGE, "there is no session");
    CHECK(session->process == getpid(), UNAVAILABLE,
          "the session is that of the process that this one was forked from: open another one here");
    CHECK(session->threads == 1 || !lost_team(), UNAVAILABLE,
          "this process was forked by a thread that had used the library: it has one thread (threads = 1)");
    *visit = (stencil_visit){omp_get_max_threads(), omp_get_dynamic(), -1};
    omp_set_num_threads(session->threads);
    omp_set_dynamic(0);
    if (session->threads > 1)
        team_of = getpid();
#ifdef STENCIL_HAVE_CUDA
    if (session->machine.gpu_count > 0)
        TRY_CUDA(cudaGetDevice(&visit->device));
#endif
    return STENCIL_OK;
}

void stencil_visit_leave(const stencil_visit *visit) {
    omp_set_dynamic(visit->dynamic);
    omp_set_num_threads(visit->threads);
#ifdef STENCIL_HAVE_CUDA
    if (visit->device >= 0)
        (void)cudaSetDevice(visit->device);
#endif
}

/* Chooses the number of threads: as asked for, or as many as this thread may use. */
static stencil_status choose_threads(stencil_session_t *session, int asked) {
    enum { THREADS_MAX = 4096 };
    CHECK(asked >= 0 && asked <= THREADS_MAX, USAGE, "threads is %d: give 1 to %d, or 0 for as many as suit",
          asked, THREADS_MAX);
    const bool nested = omp_get_active_level() >= omp_get_max_active_levels(), alone = nested || lost_team();
    const int64_t most = stencil_smaller(omp_get_max_threads(), omp_get_thread_limit()),
                  all = stencil_smaller(most, stencil_processors());
    session->threads = asked > 0 ? asked : alone ? 1 : (int)all;
    return STENCIL_OK;
}

static stencil_status open_session(stencil_session_t *session, const stencil_session_options_t *options) {
    stencil_session_options_t asked;
    stencil_visit visit;
    TRY(stencil_structure_take(&asked, sizeof asked, options, "stencil_session_options_t"));
    TRY(choose_threads(session, asked.threads));
    TRY(stencil_visit_enter(&visit, session));
    /* The driver's own number of queues: another one is asked for by the environment, which is the caller's.
     */
    const stencil_status status = stencil_machine_probe(&session->machine, STENCIL_STREAMS_DEFAULT);
    stencil_visit_leave(&visit);
    return status;
}

stencil_code_t stencil_session_new(stencil_session_t **session, const stencil_session_options_t *options) {
    if (session == NULL)
        return stencil_code_fail(STENCIL_BAD_ARGUMENT, "there is no place for the session");
    stencil_session_t *made = *session = calloc(1, sizeof *made);
    if (made == NULL)
        return stencil_code_fail(STENCIL_OUT_OF_MEMORY, "no memory for a session");
    made->uses = 1;
    made->process = getpid();
    pthread_mutex_init(&made->at, NULL);
    const stencil_code_t code = stencil_code_of(open_session(made, options));
    if (code != STENCIL_DONE) {
        stencil_session_free(made);
        *session = NULL;
    }
    return code;
}

stencil_session_t *stencil_session_share(stencil_session_t *session) {
    __atomic_add_fetch(&session->uses, 1, __ATOMIC_RELAXED);
    return session;
}

void stencil_session_free(stencil_session_t *session) {
    /* Acquire and release: whoever frees the session has seen the last use of all others. */
    if (session == NULL || __atomic_sub_fetch(&session->uses, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    pthread_mutex_destroy(&session->at);
    free(session);
}

static bool go_on(void *context, double done, const char *what) {
    (void)context, (void)done, (void)what;
    return true;
}

stencil_code_t stencil_session_calibrate(stencil_session_t *session, double seconds) {
    static const double noise = 0.1;
    stencil_visit visit;
    if (!(seconds > 0))
        return stencil_code_fail(STENCIL_BAD_ARGUMENT, "calibration takes a positive number of seconds");
    const stencil_code_t code = stencil_code_of(stencil_visit_enter(&visit, session));
    if (code != STENCIL_DONE)
        return code;
    pthread_mutex_lock(&session->at);
    const bool gpu = session->machine.gpu_count > 0;
    stencil_status status = stencil_calibrate(&session->machine, false, seconds, noise, go_on, NULL);
    if (status == STENCIL_OK && gpu)
        status = stencil_calibrate(&session->machine, true, seconds, noise, go_on, NULL);
    pthread_mutex_unlock(&session->at);
    stencil_visit_leave(&visit);
    return stencil_code_of(status);
}
