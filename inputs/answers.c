/* The reading process: what it does for each request. */
#include <omp.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "inputs/file.h"
#include "inputs/reading.h"

/* State of the reading process. */
static struct {
    char path[PATH_MAX];
    stencil_h5_input input;
    stencil_dataset numbers;
    char name[STENCIL_NAME_MAX]; /* name of the dataset in `numbers` */
    bool checked;                /* sources of the virtual dataset `numbers` were checked */
} here;

static stencil_status answer_open(const stencil_call *call) {
    const stencil_ask_open *ask = &call->ask->open;
    stencil_say_open *say = &call->say->open;
    /* HDF5's initialisation dereferences null pointers where memory runs out. */
    CHECK(stencil_memory_address_space_left_bytes() > 0, NO_MEMORY,
          "the limit of address space leaves no room for HDF5; raise 'ulimit -v'");
    stencil_h5_quiet();
    memcpy(here.path, ask->path, sizeof here.path);
    stencil_spec_init(&say->spec);
    TRY(stencil_h5_input_open(&here.input, here.path));
    if (!ask->looks)
        TRY(stencil_h5_input_spec(&here.input, ask->named ? ask->field : NULL, &say->spec));
    say->facts = here.input.facts;
    return STENCIL_OK;
}

/* Keeps a trial thread alive until all are started, as OpenMP's threads are. */
static void *wait_to_end(void *go) {
    pthread_mutex_lock(go);
    pthread_mutex_unlock(go);
    return NULL;
}

/* Returns how many of `asked` threads the system can start: OpenMP aborts the process where one does not
 * start. */
static int threads_that_start(int asked) {
    enum { MOST = 4096 };
    static int tried, started = 1;
    static pthread_t thread[MOST];
    static pthread_mutex_t go = PTHREAD_MUTEX_INITIALIZER;
    pthread_attr_t attributes;
    if (asked <= tried)
        return asked < started ? asked : started;
    int count = 0;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STENCIL_READING_STACK_BYTES);
    pthread_mutex_lock(&go);
    while (count < asked - 1 && count < MOST &&
           pthread_create(&thread[count], &attributes, wait_to_end, &go) == 0)
        count++;
    pthread_mutex_unlock(&go);
    for (int i = 0; i < count; i++)
        pthread_join(thread[i], NULL);
    pthread_attr_destroy(&attributes);
    tried = asked;
    started = count + 1;
    return started;
}

static stencil_status answer_cells(const stencil_call *call) {
    const stencil_ask_cells *ask = &call->ask->cells;
    const stencil_cells to = stencil_cells_dense(ask->precision, call->window, &ask->box);
    omp_set_num_threads(threads_that_start((int)ask->threads));
    return stencil_h5_input_read(&here.input, ask->source, &ask->box, stencil_h5_type(ask->precision, false),
                                 &to);
}

static stencil_status answer_rest(const stencil_call *call) {
    (void)call;
    stencil_h5_input_rest(&here.input);
    return STENCIL_OK;
}

static stencil_status answer_grid(const stencil_call *call) {
    stencil_say_grid *say = &call->say->grid;
    say->spec = call->ask->grid;
    stencil_reading_at("coordinates");
    return stencil_h5_input_grid(&here.input, &say->spec, &say->notes);
}

static stencil_status answer_notes(const stencil_call *call) {
    const stencil_ask_notes *ask = &call->ask->notes;
    stencil_h5_input_notes(&here.input, &ask->file, &ask->spec, &call->say->notes);
    return STENCIL_OK;
}

static stencil_status answer_field(const stencil_call *call) {
    const char *other = call->ask->field.other;
    stencil_say_field *say = &call->say->field;
    bool passed_over;
    say->holds = other[0] != '\0' && H5Lexists(here.input.file, other, H5P_DEFAULT) > 0;
    return stencil_field_choose(here.input.file, here.path, NULL, say->field, &passed_over);
}

static stencil_status answer_provenance(const stencil_call *call) {
    stencil_reading_at("/provenance");
    return stencil_h5_input_provenance(&here.input, &call->say->provenance);
}

static stencil_status answer_numbers(const stencil_call *call) {
    const stencil_ask_numbers *ask = &call->ask->numbers;
    stencil_dataset *d = &here.numbers;
    _Static_assert(STENCIL_RANK_MAX == H5S_MAX_RANK, "the rank of any dataset");
    stencil_dataset_close(d);
    memcpy(here.name, ask->name, sizeof here.name);
    here.checked = false;
    TRY(stencil_dataset_open(d, here.input.file, here.path, here.name,
                             ask->advice[0] != '\0' ? ask->advice : NULL));
    call->say->numbers = d->is;
    return STENCIL_OK;
}

static stencil_status answer_block(const stencil_call *call) {
    const stencil_ask_block *ask = &call->ask->block;
    CHECK(here.numbers.id > 0, INTERNAL, "there are no numbers to read");
    stencil_reading_at("numbers of %s", here.name);
    if (!here.checked && stencil_dataset_elsewhere(here.numbers.id))
        TRY(stencil_dataset_check_sources(here.input.file, here.path, here.name));
    here.checked = true;
    return stencil_dataset_read(&here.numbers, ask->first, ask->most,
                                ask->whole ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE, call->window,
                                &call->say->block.count);
}

static stencil_status answer_kept(const stencil_call *call) {
    stencil_say_kept *say = &call->say->kept;
    stencil_reading_at("what the result takes over");
    return stencil_kept_bytes(&here.input, call->ask->kept, &say->bytes, &say->chunk_bytes);
}

static stencil_status answer_keep(const stencil_call *call) {
    const stencil_ask_keep *ask = &call->ask->keep;
    stencil_say_keep *say = &call->say->keep;
    stencil_sink sink = {.path = ask->path, .fd = call->fd};
    CHECK(call->fd >= 0, INTERNAL, "there is no result to write to");
    stencil_status status = stencil_sink_go_on(&sink, ask->eoa);
    if (status == STENCIL_OK)
        status = stencil_kept_copy(&here.input, &sink, &ask->spec, &say->notes);
    if (status == STENCIL_OK)
        status = stencil_sink_pause(&sink);
    say->eoa = sink.eoa;
    if (sink.file > 0)
        H5Fclose(sink.file);
    return status;
}

_Noreturn void stencil_reading_answer(char **argv) {
    static stencil_answerer *const answerers[] = {
#define X(name, ask, say, cells) [STENCIL_REQUEST_##name] = answer_##name,
        STENCIL_REQUESTS(X)
#undef X
    };
    stencil_reading_serve(argv, answerers);
}
