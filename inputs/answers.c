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
    bool checked;                /* whether the sources of `numbers`, a virtual dataset, were checked */
} here;

static stencil_status open_input(const stencil_ask *ask, stencil_say *say) {
    /* HDF5's initialisation dereferences null pointers where memory runs out. */
    CHECK(stencil_memory_address_space_left_bytes() > 0, NO_MEMORY,
          "the limit of address space leaves no room for HDF5; raise 'ulimit -v'");
    stencil_h5_quiet();
    memcpy(here.path, ask->path, sizeof here.path);
    stencil_spec_init(&say->spec);
    TRY(stencil_h5_input_open(&here.input, here.path));
    if (!ask->looks)
        TRY(stencil_h5_input_spec(&here.input, ask->named ? ask->name : NULL, &say->spec));
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

static stencil_status read_cells(const stencil_ask *ask, void *window) {
    const stencil_cells to = stencil_cells_dense(ask->precision, window, &ask->box);
    omp_set_num_threads(threads_that_start(ask->threads));
    return stencil_h5_input_read(&here.input, ask->dataset, &ask->box, stencil_h5_type(ask->precision, false),
                                 &to);
}

static stencil_status open_numbers(const stencil_ask *ask, stencil_numbers *numbers) {
    stencil_dataset *d = &here.numbers;
    _Static_assert(STENCIL_RANK_MAX == H5S_MAX_RANK, "the rank of any dataset");
    stencil_dataset_close(d);
    memcpy(here.name, ask->name, sizeof here.name);
    here.checked = false;
    TRY(ask->truths ? stencil_dataset_open_truths(d, here.input.file, here.path, here.name)
                    : stencil_dataset_open(d, here.input.file, here.path, here.name,
                                           ask->advice[0] != '\0' ? ask->advice : NULL));
    *numbers = d->is;
    return STENCIL_OK;
}

static stencil_status describe(stencil_description *description) {
    const stencil_dataset *d = &here.numbers;
    CHECK(d->id > 0, INTERNAL, "there are no numbers to describe");
    stencil_attribute_text(d->id, "units", description->units, sizeof description->units);
    stencil_attribute_text(d->id, "long_name", description->long_name, sizeof description->long_name);
    stencil_scales_name(&here.input, d, description->scale);
    return stencil_values_read(&description->values, d->id, here.path, here.name);
}

static stencil_status read_block(const stencil_ask *ask, void *window, int64_t *count) {
    CHECK(here.numbers.id > 0, INTERNAL, "there are no numbers to read");
    stencil_reading_at("numbers of %s", here.name);
    if (!here.checked && stencil_dataset_elsewhere(here.numbers.id))
        TRY(stencil_dataset_check_sources(here.input.file, here.path, here.name));
    here.checked = true;
    return stencil_dataset_read(&here.numbers, ask->first, ask->most,
                                ask->whole ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE, window, count);
}

/* Copies the source term and the user's own objects into a result, an HDF5 file that the parent has begun and
 * closed, through its descriptor. */
static stencil_status keep(const stencil_ask *ask, stencil_say *say, int fd) {
    stencil_sink sink = {.path = ask->path, .fd = fd};
    CHECK(fd >= 0, INTERNAL, "there is no result to write to");
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

static stencil_status answer(const stencil_ask *ask, stencil_say *say, void *window, int fd) {
    bool passed_over;
    switch (ask->request) {
    case STENCIL_REQUEST_OPEN:
        return open_input(ask, say);
    case STENCIL_REQUEST_CELLS:
        return read_cells(ask, window);
    case STENCIL_REQUEST_REST:
        stencil_dataset_close(&here.input.cells);
        return STENCIL_OK;
    case STENCIL_REQUEST_GRID:
        say->spec = ask->spec;
        stencil_reading_at("coordinates");
        return stencil_h5_input_grid(&here.input, &say->spec, &say->notes);
    case STENCIL_REQUEST_NOTES:
        stencil_h5_input_notes(&here.input, &ask->file, &ask->spec, &say->notes);
        return STENCIL_OK;
    case STENCIL_REQUEST_FIELD:
        say->holds = ask->name[0] != '\0' && H5Lexists(here.input.file, ask->name, H5P_DEFAULT) > 0;
        return stencil_field_choose(here.input.file, here.path, NULL, say->field, &passed_over);
    case STENCIL_REQUEST_PROVENANCE:
        stencil_reading_at("/provenance");
        return stencil_h5_input_provenance(&here.input, &say->provenance);
    case STENCIL_REQUEST_NUMBERS:
        return open_numbers(ask, &say->numbers);
    case STENCIL_REQUEST_DESCRIBE:
        return describe(&say->description);
    case STENCIL_REQUEST_BLOCK:
        return read_block(ask, window, &say->count);
    case STENCIL_REQUEST_KEPT:
        stencil_reading_at("what the result takes over");
        return stencil_kept_bytes(&here.input, ask->dataset, &say->bytes, &say->chunk_bytes);
    case STENCIL_REQUEST_KEEP:
        return keep(ask, say, fd);
    }
    FAIL(INTERNAL, "there is no request %d", (int)ask->request);
}

_Noreturn void stencil_reading_answer(char **argv) {
    stencil_reading_serve(argv, answer);
}
