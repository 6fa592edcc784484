/* What the ways to normalise share on the host. Internal to bench/. */
#pragma once

#include "bench/cases/problem.h"

/* The members `make` and `plain` of stencil_case_body. */
stencil_status normalise_make(stencil_case_problem *problem);
void normalise_plain(const stencil_case_problem *problem);
