#!/bin/sh
# The paper's experiment on the one genre for which there are thousands of authors here: blogs.
# Needs a GPU. What came out is in docs/paper.md.
#
#     sh recipes/pan20-blogs/make.sh CORPORA WORK [OPTIONS of adhominem paper]
#
# CORPORA holds train/blogs, train-extra/blogs, and the pair sets dev/blogs and dev/fanfic18, which
# are the test sets. WORK is made; after a stop, the same command goes on.
set -eu
corpora=$1
work=$2
shift 2
python=${PYTHON:-python}
"$python" "$(dirname "$0")/pan_format.py" "$corpora" "$work/pan"
"$python" -m adhominem paper --small "$work/pan/small" --large "$work/pan/large" \
    --test "$corpora/dev/blogs" --test "$corpora/dev/fanfic18" --preset pan20 --preset pan21 \
    -o "$work/paper" --seed 20 "$@"
