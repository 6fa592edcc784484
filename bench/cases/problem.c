#include "bench/cases/problem.h"

#include <stdlib.h>
#include <string.h>

stencil_status stencil_case_add_array(stencil_case_problem *p, const stencil_case_array *array) {
    CHECK(p->array_count < STENCIL_CASE_ARRAYS_MAX, INTERNAL, "%s has too many arrays", p->of->name);
    stencil_case_array *a = &p->array[p->array_count++];
    int64_t bytes;
    *a = *array;
    CHECK(stencil_multiply(a->count, (int64_t)a->element_bytes, &bytes), BAD_DATA,
          "%s of %lld elements: more bytes than can be counted", p->of->name, (long long)p->n);
    TRY(stencil_memory_alloc(&a->memory, bytes, p->of->name));
    if (a->kind == STENCIL_CASE_RESULT)
        TRY(stencil_memory_alloc(&a->expected, bytes, p->of->name));
    memcpy(p->arguments + a->pointer_at, &a->memory, sizeof a->memory);
    return STENCIL_OK;
}

void *stencil_case_expected(const stencil_case_problem *p, const char *name) {
    int i = 0;
    while (strcmp(p->array[i].name, name) != 0)
        i++;
    return p->array[i].expected;
}

uint64_t stencil_case_random(uint64_t *state) {
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

double stencil_case_random_real(uint64_t *state) {
    return (double)(stencil_case_random(state) >> 11) * 0x1p-53;
}

stencil_status stencil_case_check_size(const stencil_case *of, int64_t n) {
    const stencil_case_body *body = of->body;
    const int level = body->most_level > 0 ? body->most_level : 62;
    CHECK(n >= body->least && n <= (int64_t)1 << level && (!body->power_of_two || (n & (n - 1)) == 0),
          BAD_DATA, "%s of %lld elements: it takes %s%lld … 2^%d", of->name, (long long)n,
          body->power_of_two ? "a power of two, " : "", (long long)body->least, level);
    return STENCIL_OK;
}

stencil_status stencil_case_make(stencil_case_problem *p, const stencil_case *of, int64_t n,
                                 int64_t repeats) {
    *p = (stencil_case_problem){.of = of, .n = n, .repeats = repeats};
    TRY(stencil_case_check_size(of, n));
    TRY(of->body->make(p));
    const double start_s = stencil_clock_s();
    of->body->plain(p);
    p->plain_s = stencil_clock_s() - start_s;
    return STENCIL_OK;
}

void stencil_case_destroy(stencil_case_problem *p) {
    for (int i = 0; i < p->array_count; i++) {
        free(p->array[i].memory);
        free(p->array[i].expected);
    }
    *p = (stencil_case_problem){0};
}

void stencil_case_spoil(const stencil_case_problem *p) {
    for (int i = 0; i < p->array_count; i++)
        if (p->array[i].kind != STENCIL_CASE_INPUT)
            memset(p->array[i].memory, 0xff, (size_t)p->array[i].count * p->array[i].element_bytes);
}

stencil_status stencil_case_check(const stencil_case_problem *p, const char *by) {
    for (int i = 0; i < p->array_count; i++) {
        const stencil_case_array *a = &p->array[i];
        const char *is = a->memory, *has_to = a->expected;
        int64_t k = 0;
        if (a->kind != STENCIL_CASE_RESULT || memcmp(is, has_to, (size_t)a->count * a->element_bytes) == 0)
            continue;
        while (memcmp(is + (size_t)k * a->element_bytes, has_to + (size_t)k * a->element_bytes,
                      a->element_bytes) == 0)
            k++;
        FAIL(INTERNAL, "%s of %lld elements, %s: %s[%lld] of %lld is not that of the plain version",
             p->of->name, (long long)p->n, by, a->name, (long long)k, (long long)a->count);
    }
    return STENCIL_OK;
}

stencil_status stencil_case_check_bound(const stencil_case_problem *p, const char *by) {
    if (p->of->body->agrees == NULL)
        return stencil_case_check(p, by);
    CHECK(p->of->body->agrees(p), INTERNAL,
          "%s of %lld elements, %s: it differs from the plain version by more than its bound of error",
          p->of->name, (long long)p->n, by);
    return STENCIL_OK;
}
