#!/bin/sh
# The paper's Table 2 in the paper's conditions, on the one genre for which there are thousands of
# authors here: personal blogs. Needs one GPU (about 12 minutes on an H200 with all trainings side
# by side; one after another, as here, about half an hour).
#
#     sh recipes/pan20-blogs/make.sh CORPORA WORK [VECTORS]
#
# CORPORA holds train/blogs, train-extra/blogs and dev/blogs; WORK is made, and what is there already
# is not done again. VECTORS is a text file of pretrained word vectors of 300 numbers to start with;
# without one they start at random. What came out is in docs/paper.md.
set -eu
corpora=$1
work=$2
vectors=${3:-}
here=$(dirname "$0")
mkdir -p "$work/posts"

# Nine tenths of the authors to train on, a tenth for dev, as in the paper; two posts make a text.
if [ ! -d "$work/split" ]; then
    cat "$corpora/train/blogs.jsonl.xz" "$corpora/train-extra/blogs.jsonl.xz" \
        >"$work/posts/blogs.jsonl.xz"
    adhominem split "$work/posts" -o "$work/split" --shares 0.9 0.1 0 --seed 20
fi
join() { # SOURCE TARGET and options
    [ -f "$2" ] || python "$here/join.py" "$@"
}
posts=$work/split/train/blogs.jsonl.zst
join "$posts" "$work/large/blogs.jsonl.zst"
join "$posts" "$work/small/blogs.jsonl.zst" --only "$corpora/train/blogs.jsonl.xz"
join "$work/split/dev/blogs.jsonl.zst" "$work/held-out/blogs.jsonl.zst"
mkdir -p "$work/dev"
if [ ! -d "$work/dev/two-posts" ]; then
    adhominem pairs "$work/held-out" -o "$work/dev/two-posts" --balanced --seed 20
fi
[ -e "$work/dev/blogs" ] || cp -r "$corpora/dev/blogs" "$work/dev/blogs"
for size in small large; do
    [ -d "$work/corpus-$size" ] || adhominem prepare "$work/$size" -o "$work/corpus-$size"
done

train() { # SIZE NAME and settings
    size=$1
    model=$work/models/$size-$2
    shift 2
    [ -d "$model" ] && return
    adhominem train "$work/corpus-$size" --dev "$work/dev/blogs" --dev "$work/dev/two-posts" \
        -o "$model" --preset pan20 --set "encoder.word_vectors=$vectors" --resume "$@"
}
for size in small large; do
    train "$size" early-bird --set training.seed=5 --set data.hidden_topics=1
    for seed in 0 1 2 3 4; do
        train "$size" "$seed" --set "training.seed=$seed"
    done
    set --
    for seed in 0 1 2 3 4; do
        set -- "$@" "$work/models/$size-$seed"
    done
    python "$here/../../benchmarks/table2.py" "$work/dev" \
        --early-bird "$work/models/$size-early-bird" --members "$@" | tee "$work/table-$size.md"
done
