/* Aliases that users write for names of the format, and attributes that a problem does not use. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/words.h"
#include "inputs/file.h"

enum {
    GIVEN = 1 << STENCIL_KIND_NONE,
    LAPLACE = 1 << STENCIL_KIND_LAPLACE,
    POISSON = 1 << STENCIL_KIND_POISSON,
    HEAT = 1 << STENCIL_KIND_HEAT,
    RELAXED = LAPLACE | POISSON,
    DERIVED = RELAXED | HEAT,
    ALL = GIVEN | DERIVED,
};

/* Aliases of one quantity. Longer aliases match in any case, without underscores and hyphens; single letters
 * match exactly. */
typedef struct alias {
    int kinds;
    const char *meant;     /* attribute of the format that is meant; "/…": a dataset */
    const char *say;       /* advice on what to write, where it is more than `meant` */
    const char *const *of; /* the aliases; NULL ends the list */
} alias;

#define NAMES(...)                                                                                           \
    (const char *const[]) {                                                                                  \
        __VA_ARGS__, NULL                                                                                    \
    }
static const alias aliases[] = {
    {HEAT, "diffusivity", NULL,
     NAMES("alpha", "D", "k", "kappa", "nu", "diffusion", "diffusionconstant", "diffusioncoefficient",
           "diffusioncoeff", "thermaldiffusivity", "conductivity", "thermalconductivity")},
    {HEAT, "dt", NULL, NAMES("timestep", "timestepsize", "deltat", "stepsize", "timeincrement")},
    {HEAT, "time", "time_end, or --time",
     NAMES("tend", "tfinal", "tmax", "tstop", "endtime", "finaltime", "maxtime", "stoptime", "simulationtime",
           "totaltime", "duration")},
    {DERIVED, "spacing", NULL,
     NAMES("dx", "dy", "dz", "h", "hx", "hy", "hz", "deltax", "deltay", "deltaz", "gridspacing",
           "cellspacing", "cellsize", "pixelsize", "voxelsize", "resolution")},
    {ALL, "steps", NULL,
     NAMES("maxsteps", "nsteps", "nstep", "numsteps", "numberofsteps", "nt", "ntimesteps", "niter", "numiter",
           "maxiter", "itmax", "iterations", "niterations", "numiterations", "maxiterations")},
    {ALL, "rtol", "rtol or atol",
     NAMES("tol", "toler", "reltol", "relativetolerance", "residualtolerance", "convergencetolerance",
           "convergencecriterion", "convergence")},
    {ALL, "atol", NULL, NAMES("abstol", "absolutetolerance")},
    {RELAXED, "rtol", "rtol or atol", NAMES("eps", "epsilon")},
    {HEAT, "rtol", "rtol or atol", NAMES("eps", "epsilon")},
    {RELAXED, "/k", "the coefficients as /k",
     NAMES("K", "kappa", "conductivity", "thermalconductivity", "permeability", "permittivity", "coefficient",
           "coefficients")},
    {RELAXED, "omega", NULL,
     NAMES("damping", "dampingfactor", "relaxation", "relaxationfactor", "relaxationparameter")},
    {ALL, "boundary", NULL,
     NAMES("bc", "bcs", "boundaries", "boundarycondition", "boundaryconditions", "boundarytype", "bctype")},
    {HEAT, "/q", "the source, a value per time, as /q",
     NAMES("source", "sourceterm", "rhs", "righthandside", "forcing", "heatsource", "heating", "q", "Q", "f",
           "F", "S")},
    {POISSON, "/f", "the right-hand side as /f",
     NAMES("source", "sourceterm", "rhs", "righthandside", "forcing", "charge", "chargedensity", "rho", "f",
           "F", "g", "q", "Q", "S")},
    {LAPLACE, "/f", "problem poisson, with its right-hand side as /f",
     NAMES("source", "sourceterm", "rhs", "righthandside", "forcing", "f", "F")},
    {GIVEN, "/b", "what every step adds as /b",
     NAMES("source", "sourceterm", "rhs", "righthandside", "forcing", "F", "Q")},
    {ALL, "_FillValue", "what marks cells without a value as _FillValue, an attribute of the field",
     NAMES("fillvalue", "nodata", "nodatavalue", "missing", "missingdata", "fill")},
    {ALL, "/u", "the initial values as /u",
     NAMES("u0", "uinit", "initial", "initialvalues", "initialcondition", "initialconditions")},
};

static bool same_name(const char *name, const char *plain) {
    if (plain[1] == '\0')
        return strcmp(name, plain) == 0;
    for (; *name != '\0'; name++)
        if (*name != '_' && *name != '-' && *name != ' ' && tolower((unsigned char)*name) != *plain++)
            return false;
    return *plain == '\0';
}

static const alias *alias_find(const char *name, stencil_kind kind) {
    if (strcmp(name, "_FillValue") == 0)
        return NULL;
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        for (const char *const *of = aliases[i].of; (aliases[i].kinds & 1 << kind) != 0 && *of != NULL; of++)
            if (same_name(name, *of))
                return &aliases[i];
    return NULL;
}

/* Returns the number of values of a dataset if it may be meant by an alias (an array of the rank of /u, or
 * its cells in a list; a few numbers), else 0. */
static hssize_t dataset_values(const stencil_named *n, const stencil_spec *spec, bool field) {
    STENCIL_ITEM d = stencil_item_dataset(n->at, n->name);
    int64_t cells = 1;
    for (int i = 0; i < spec->rank; i++)
        cells *= spec->extent[i];
    const bool fits = d.count == cells || d.count == 1 ||
                      (field ? H5Sget_simple_extent_ndims(d.space) == spec->rank : d.count <= STENCIL_AXES);
    return fits && d.count > 0 ? d.count : 0;
}

/* Tells whether the problem has this number already, under the format's name or by default. */
static bool is_said(const stencil_spec *spec, const char *meant, double number) {
    if (strcmp(meant, "time") == 0)
        return fabs((double)spec->steps * spec->dt - number) <= spec->dt;
    if (strcmp(meant, "rtol") == 0)
        return spec->rtol == number || spec->atol == number;
    const bool unset = strcmp(meant, "spacing") == 0 ? spec->spacing_count == 0
                       : strcmp(meant, "diffusivity") == 0
                           ? spec->diffusivity_count == 0 && !spec->has_k
                           : strcmp(meant, "omega") == 0 && isnan(spec->omega);
    return (unset && number == 1.0) || stencil_spec_says(spec, meant, number);
}

/* Returns the number of values of an attribute if it may be meant by an alias, else 0; *said: the problem has
 * the same values. */
static int attribute_values(const stencil_named *n, const stencil_spec *spec, const alias *a, bool *said) {
    double number[STENCIL_AXES];
    STENCIL_ITEM item = stencil_item_attribute(n->at, n->name);
    const bool numbers = item.count >= 1 && item.count <= STENCIL_AXES && stencil_item_is_number(&item) &&
                         H5Aread(item.id, H5T_NATIVE_DOUBLE, number) >= 0;
    const int count = numbers ? (int)item.count : 0; /* numbers, at most one per axis */
    *said = numbers && a->meant[0] != '/';
    for (int i = 0; i < count && *said; i++)
        *said = is_said(spec, a->meant, number[i]);
    return strcmp(a->meant, "boundary") == 0 ? 1 : count;
}

bool stencil_alias_note(const stencil_named *n, const stencil_spec *spec, stencil_notes *notes) {
    const alias *a = alias_find(n->name, spec->kind);
    const bool field = a != NULL && a->meant[0] == '/', marker = a != NULL && a->meant[0] == '_';
    if (field && strcmp(a->meant, "/u") == 0 && spec->field[0] != '\0')
        return false;
    const char *how = "";
    bool said = false;
    const hssize_t values = a == NULL                    ? 0
                            : n->place == STENCIL_OBJECT ? dataset_values(n, spec, field)
                                                         : attribute_values(n, spec, a, &said);
    if (values == 0 || said)
        return said;
    if (field && n->place != STENCIL_OBJECT)
        how = ", one for each cell";
    else if (values > STENCIL_AXES && n->place == STENCIL_OBJECT && strcmp(a->meant, "diffusivity") == 0)
        how = " as an attribute, one number for all cells, or /k, one for each";
    else if (!field && !marker && n->place == STENCIL_OBJECT)
        how = values > STENCIL_AXES ? " as an attribute, one number for all cells" : " as an attribute";
    else if (!field && !marker && n->place != STENCIL_ATTRIBUTE)
        how = " as an attribute of the root group";
    stencil_notes_warn(notes, "%s is not used: give %s%s", n->what, a->say != NULL ? a->say : a->meant, how);
    return true;
}

/* Words for a side of an axis, behind the axis, and for sides of any field, with the side that is meant; "y":
 * which one it is depends on how rows are drawn. */
static const struct {
    const char *word, *side;
} side_words[] = {{"minus", "-"}, {"min", "-"},      {"lo", "-"},    {"low", "-"},      {"lower", "-"},
                  {"neg", "-"},   {"negative", "-"}, {"begin", "-"}, {"start", "-"},    {"first", "-"},
                  {"0", "-"},     {"m", "-"},        {"plus", "+"},  {"max", "+"},      {"hi", "+"},
                  {"high", "+"},  {"upper", "+"},    {"pos", "+"},   {"positive", "+"}, {"end", "+"},
                  {"last", "+"},  {"1", "+"},        {"p", "+"}},
  whole_words[] = {{"left", "x-"},  {"west", "x-"}, {"right", "x+"}, {"east", "x+"}, {"top", "y"},
                   {"bottom", "y"}, {"north", "y"}, {"south", "y"},  {"up", "y"},    {"down", "y"},
                   {"upper", "y"},  {"lower", "y"}, {"front", "z"},  {"back", "z"}};

/* Returns the side that a word is meant for: "x-", "y" or the like; "": none. */
static const char *side_of(const char *word, char side[3]) {
    side[0] = '\0';
    for (size_t i = 0; i < sizeof whole_words / sizeof *whole_words; i++)
        if (same_name(word, whole_words[i].word))
            return snprintf(side, 3, "%s", whole_words[i].side) > 0 ? side : "";
    const char axis = (char)tolower((unsigned char)word[0]);
    if (axis == '\0' || strchr("xyz", axis) == NULL)
        return side;
    const char *rest = word + 1;
    while (*rest == '_' || *rest == '-' || *rest == ' ')
        rest++;
    for (size_t i = 0; i < sizeof side_words / sizeof *side_words; i++)
        if (same_name(rest, side_words[i].word))
            snprintf(side, 3, "%c%s", axis, side_words[i].side);
    return side;
}

bool stencil_side_note(const stencil_named *n, stencil_notes *notes) {
    static const char *const numbers[] = {"boundary", "bc", "flux", "exchange", "ambient"};
    const char *name = n->name, *what = NULL;
    char side[3];
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && what == NULL; i++) {
        const size_t length = strlen(numbers[i]);
        if (strncasecmp(name, numbers[i], length) == 0 && strchr("_- ", name[length]) != NULL &&
            name[length] != '\0') {
            what = i == 1 ? numbers[0] : numbers[i];
            name += length + 1;
        }
    }
    if (what == NULL || n->place == STENCIL_MEMBER || side_of(name, side)[0] == '\0' ||
        (n->place == STENCIL_OBJECT && side[1] == '\0')) /* such as radiation that goes up and down */
        return false;
    const char *where = n->place == STENCIL_FIELD_ATTRIBUTE ? " of the root group" : "";
    const bool array = n->place == STENCIL_OBJECT && what != numbers[0];
    if (side[1] != '\0')
        stencil_notes_warn(notes, "%s is not used: did you mean %s%s_%s%s%s?", n->what,
                           array ? "/" : "attribute '", what, side, array ? "" : "'", where);
    else
        stencil_notes_warn(
            notes,
            "%s is not used: sides are named by their axes, %s_%s- beside the first cells along "
            "%s and %s_%s+ beside the last ones",
            n->what, what, side, side, what, side);
    return true;
}

bool stencil_factor_note(const stencil_named *n, stencil_notes *notes) {
    static const char end[] = "_factor";
    const size_t length = strlen(n->name), of = length - (sizeof end - 1);
    char array[64];
    if (n->place != STENCIL_OBJECT || length < sizeof end || length >= sizeof array ||
        strcmp(n->name + of, end) != 0)
        return false;
    snprintf(array, sizeof array, "%.*s", (int)of, n->name);
    if (H5Lexists(n->at, array, H5P_DEFAULT) <= 0)
        return false;
    if (strcmp(array, "fixed") == 0)
        stencil_notes_warn(notes, "%s is not used: did you mean /fixed_value_factor?", n->what);
    else
        stencil_notes_warn(notes, "%s is not used: factors over time are those of /b, /q and /fixed_value",
                           n->what);
    return true;
}

/* Tells whether a /k that is not taken, since it has another rank than the field, may be meant for its cells:
 * one number, as many as there are cells or lie along an axis, or an array of several axes. Other lists, of
 * wave numbers, are the user's own. */
static bool may_be_coefficients(hid_t file, const stencil_spec *spec) {
    if (H5Lexists(file, "k", H5P_DEFAULT) <= 0)
        return false;
    STENCIL_ITEM d = stencil_item_dataset(file, "k");
    int64_t cells = 1;
    bool fits = d.count == 1 || (d.space >= 0 && H5Sget_simple_extent_ndims(d.space) > 1);
    for (int i = 0; i < spec->rank; i++) {
        cells *= spec->extent[i];
        fits = fits || d.count == spec->extent[i];
    }
    return d.count > 0 && (fits || d.count == cells);
}

void stencil_effect_notes(hid_t file, stencil_kind own, const stencil_spec *spec, stencil_notes *notes) {
    const char *name;
    if (spec->has_k && spec->kind == STENCIL_KIND_NONE)
        stencil_notes_warn(notes,
                           "/k has no effect on given weights: it is for problem laplace, poisson and heat");
    if (!spec->has_k && spec->kind != STENCIL_KIND_NONE && may_be_coefficients(file, spec))
        stencil_notes_warn(
            notes, "/k is not used: give a number for each cell of %s%s", stencil_spec_field(spec),
            spec->kind == STENCIL_KIND_HEAT ? ", or one for all cells as the attribute diffusivity" : "");
    for (int i = 0; (name = stencil_format_name(i).name) != NULL; i++) {
        const char *problems = stencil_attribute_effect(name, spec->kind);
        const bool plain = strcmp(name, "accelerate") == 0 && strcmp(spec->accelerate, "none") == 0;
        if (problems != NULL && stencil_attribute_effect(name, own) != NULL && !plain &&
            H5Aexists(file, name) > 0)
            stencil_notes_warn(
                notes, "attribute '%s' has no effect on %s: it is for problem %s", name,
                spec->kind != STENCIL_KIND_NONE ? stencil_kind_names[spec->kind] : "given weights", problems);
    }
}
