#!/bin/sh
# Compiles a file of kernels, to machine code, for GPUs of several generations: architectures.sh NVCC FILE INCLUDE...
# Those that this nvcc does not have are named and left out. Optimisation, which takes most of the time, is left out, too.
nvcc=$1 file=$2
shift 2
codes=
for number in 75 80 89 90 100 120; do
    if "$nvcc" --list-gpu-code | grep -qx "sm_$number"; then
        codes="$codes -gencode arch=compute_$number,code=sm_$number"
    else
        echo "this nvcc has no sm_$number"
    fi
done
[ -n "$codes" ] || exit 1
! "$nvcc" --help | grep -q -e '-Ofc' || codes="$codes -Ofc=max"
output=$(mktemp)
trap 'rm -f "$output"' EXIT
# shellcheck disable=SC2086
"$nvcc" -std=c++17 --fmad=false -DSTENCIL_HAVE_CUDA $codes "$@" -fatbin "$file" -o "$output" && [ -s "$output" ]
