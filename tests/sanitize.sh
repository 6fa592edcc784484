#!/bin/sh
# Runs the GPU conformance matrix under a tool of compute-sanitizer: sanitize.sh TOOL PROGRAM [PATTERN...]
# Each pattern is a run of its own. Skipped (77) where there is no GPU or no compute-sanitizer.
tool=$1 program=$2
shift 2
PATH=$PATH:/usr/local/cuda/bin
if ! command -v compute-sanitizer >/dev/null; then
    echo "no compute-sanitizer"
    exit 77
fi
"$program" gpu 'interrupted*' >/dev/null 2>&1
if [ $? -eq 77 ]; then
    echo "no GPU"
    exit 77
fi
[ $# -gt 0 ] || set -- '*'
# synccheck counts every barrier that a block of a persistent kernel ever set up, and finds place for too few by itself.
[ "$tool" != synccheck ] || tool="synccheck --num-cuda-barriers 1024"
for pattern in "$@"; do
    compute-sanitizer --tool $tool --error-exitcode 9 "$program" gpu "$pattern" || exit 1
done
