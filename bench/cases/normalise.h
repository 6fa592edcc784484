/* What the ways to normalise share on the host. Internal to bench/. */
#pragma once

#include "bench/cases/normalise.cuh"
#include "bench/cases/problem.h"

/* Of n integers: how long pieces are, and how many there are. BAD_DATA: there is no such size. */
stencil_status normalise_cut(const stencil_case_problem *problem, int64_t *piece_quads, int64_t *pieces);
/* Fills the problem's first array, with zeros behind the n-th integer; and what its numbers have to be. */
void normalise_fill(const stencil_case_problem *problem);
void normalise_plain(const stencil_case_problem *problem);
