#include "records/cluster.h"

#include <math.h>
#include <string.h>

#include "records/description.h"

enum { CLUSTER_VERSION = 1 };
static const char kind[] = "cluster";

static const stencil_member link_members[] = {
    {"latency_s", STENCIL_MEMBER(REAL, stencil_link, latency_s)},
    {"overhead_s", STENCIL_MEMBER(REAL, stencil_link, overhead_s)},
    {"gap_s", STENCIL_MEMBER(REAL, stencil_link, gap_s)},
    {"byte_s", STENCIL_MEMBER(REAL, stencil_link, byte_s)},
    {"both_byte_s", STENCIL_MEMBER(REAL, stencil_link, both_byte_s), .newer = true},
    {NULL},
};

static const stencil_member members[] = {
    {"nodes", STENCIL_MEMBER(INTEGER, stencil_cluster, nodes), .minimum = 1, .maximum = 1 << 20},
    {"devices", STENCIL_MEMBER(INTEGER, stencil_cluster, devices), .minimum = 1, .maximum = 4096},
    {"gpu", STENCIL_MEMBER(FLAG, stencil_cluster, gpu)},
    {"cells_per_s", STENCIL_MEMBER(RATE, stencil_cluster, cells_per_s), .newer = true},
    {"lanes", STENCIL_MEMBER(INTEGER, stencil_cluster, lanes), .minimum = 0, .maximum = 4096, .or_null = true,
     .newer = true},
    {NULL},
};

static json_t *link_json(const stencil_link *link, bool known) {
    return known ? stencil_record_write(json_object(), link_members, link) : json_null();
}

json_t *stencil_cluster_write(const stencil_cluster *cluster) {
    json_t *root = stencil_record_write(json_pack("{s:s, s:i, s:s}", "kind", kind, "schema_version",
                                                  CLUSTER_VERSION, "version", STENCIL_VERSION),
                                        members, cluster);
    json_t *machine = cluster->known_machine ? json_object() : json_null();
    if (cluster->known_machine && machine != NULL)
        stencil_machine_write(&cluster->machine, machine);
    json_object_set_new(root, "inside", link_json(&cluster->inside, true));
    json_object_set_new(root, "between", link_json(&cluster->between, cluster->known_between));
    json_object_set_new(root, "machine", machine);
    return root;
}

bool stencil_cluster_is(const json_t *root) {
    const char *text = json_string_value(json_object_get(root, "kind"));
    return text != NULL && strcmp(text, kind) == 0;
}

/* Reads the figures of a link. Errors: BAD_DATA. */
static stencil_status read_link(stencil_link *link, const json_t *object, const char *name) {
    CHECK(json_is_object(object), BAD_DATA, "\"%s\" is missing or not an object", name);
    TRY(stencil_record_read(object, link_members, link));
    if (isnan(link->both_byte_s))
        link->both_byte_s = link->byte_s; /* the link has room for both ways */
    const double figures[] = {link->latency_s, link->overhead_s, link->gap_s, link->byte_s,
                              link->both_byte_s};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        CHECK(figures[i] >= 0 && isfinite(figures[i]), BAD_DATA, "\"%s\": \"%s\" is not a number from 0 on",
              name, link_members[i].name);
    return STENCIL_OK;
}

stencil_status stencil_cluster_read(stencil_cluster *cluster, const json_t *root) {
    const json_t *between = json_object_get(root, "between"), *machine = json_object_get(root, "machine");
    *cluster = (stencil_cluster){.nodes = 1};
    TRY(stencil_record_read(root, members, cluster));
    CHECK(cluster->cells_per_s >= 0, BAD_DATA, "\"cells_per_s\" is not above 0");
    TRY(read_link(&cluster->inside, json_object_get(root, "inside"), "inside"));
    cluster->known_between = between != NULL && !json_is_null(between);
    if (cluster->known_between)
        TRY(read_link(&cluster->between, between, "between"));
    cluster->known_machine = machine != NULL && !json_is_null(machine);
    CHECK(cluster->known_machine || cluster->cells_per_s > 0, BAD_DATA,
          "neither \"machine\" nor \"cells_per_s\" says what a device does");
    if (cluster->known_machine)
        TRY(stencil_machine_read(&cluster->machine, machine));
    CHECK(!cluster->gpu || !cluster->known_machine || cluster->machine.gpu_count > 0, BAD_DATA,
          "\"gpu\" is true, and the machine has none");
    return STENCIL_OK;
}
