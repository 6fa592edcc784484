#!/bin/sh
# Runs the resident sweep, with tiles that keep rows in registers and rows in shared memory, under racecheck: racecheck.sh
# STENCIL. Fields of conformance are too small for such tiles. Skipped (77) where such a field does not stay on chip, or
# where there is no GPU or no compute-sanitizer.
stencil=$1
PATH=$PATH:/usr/local/cuda/bin
if ! command -v compute-sanitizer >/dev/null; then
    echo "no compute-sanitizer"
    exit 77
fi
files=$(mktemp -d) || exit 1
trap 'rm -rf "$files"' EXIT
run="$stencil run --force --no-output --wisdom off --gpus 1 --effort estimate --sweep resident --sync neighbor"
for field in 2048:float64 2304:float64 2048:float32; do
    edge=${field%:*}
    "$stencil" new -q -f --size "${edge}x$edge" --stencil j2d5pt --precision "${field#*:}" --initial random \
        --steps 14 "$files/field.h5" || exit 1
    if ! $run "$files/field.h5" >/dev/null; then
        echo "resident does not run here"
        exit 77
    fi
    compute-sanitizer --tool racecheck --error-exitcode 9 $run "$files/field.h5" || exit 1
done
