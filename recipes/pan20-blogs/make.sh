#!/bin/sh
# The paper's Table 2 in the paper's conditions, on the one genre for which there are thousands of
# authors here: personal blogs. Needs a GPU: all trainings side by side took 10 minutes on an H200.
#
#     sh recipes/pan20-blogs/make.sh CORPORA WORK [VECTORS [--set SETTING]...]
#
# CORPORA holds train/blogs, train-extra/blogs and dev/blogs; WORK is made, and what is there already
# is not done again: after a stop, the same command goes on. VECTORS is a text file of pretrained word
# vectors of 300 numbers to start with; "" lets them start at random. Settings are those of all
# trainings, e.g. `--set training.epochs=5`. What came out is in docs/paper.md.
set -eu
corpora=$1
work=$2
vectors=${3:-}
if [ $# -gt 3 ]; then shift 3; else shift $#; fi
settings=$* # no setting holds a space
here=$(dirname "$0")
mkdir -p "$work/posts" "$work/dev"

# Nine tenths of the authors to train on, a tenth for dev, as in the paper.
if [ ! -d "$work/split" ]; then
    cat "$corpora/train/blogs.jsonl.xz" "$corpora/train-extra/blogs.jsonl.xz" \
        >"$work/posts/blogs.jsonl.xz"
    adhominem split "$work/posts" -o "$work/split" --shares 0.9 0.1 0 --seed 20
fi
join() { # SOURCE TARGET and options
    [ -f "$2" ] || python "$here/join.py" "$@"
}
for posts in 1 2; do
    join "$work/split/train/blogs.jsonl.zst" "$work/large-$posts/blogs.jsonl.zst" --posts $posts
    join "$work/split/train/blogs.jsonl.zst" "$work/small-$posts/blogs.jsonl.zst" --posts $posts \
        --only "$corpora/train/blogs.jsonl.xz"
    for size in small large; do
        if [ ! -d "$work/corpus/$size-$posts" ]; then
            adhominem prepare "$work/$size-$posts" -o "$work/corpus/$size-$posts" --preset pan20
        fi
    done
done
join "$work/split/dev/blogs.jsonl.zst" "$work/held-out/blogs.jsonl.zst" --posts 2
if [ ! -d "$work/dev/two-posts" ]; then
    adhominem pairs "$work/held-out" -o "$work/dev/two-posts" --balanced --seed 20
fi
[ -e "$work/dev/blogs" ] || cp -r "$corpora/dev/blogs" "$work/dev/blogs"

train() { # CORPUS MODEL and options
    corpus=$1
    model=$work/models/$2
    shift 2
    [ -d "$model" ] && return
    # shellcheck disable=SC2086
    adhominem train "$work/corpus/$corpus" --dev "$work/dev/blogs" --dev "$work/dev/two-posts" \
        -o "$model" --preset pan20 --set "encoder.word_vectors=$vectors" --resume "$@" $settings
}
mkdir -p "$work/models"
for size in small large; do
    train "$size-2" "$size-early-bird" --set training.seed=5 --set data.hidden_topics=1
    set --
    for seed in 0 1 2 3 4; do
        train "$size-2" "$size-$seed" --set "training.seed=$seed"
        set -- "$@" "$work/models/$size-$seed"
    done
    train "$size-1" "$size-single-posts" # posts as they are
    [ -d "$work/models/$size-ensemble" ] ||
        adhominem ensemble "$@" -o "$work/models/$size-ensemble"
    adhominem table "$work/models/$size-early-bird" "$work/models/$size-ensemble" \
        "$work/models/$size-single-posts" --members --by-distance \
        --pairs "$work/dev/blogs" --pairs "$work/dev/two-posts" >"$work/table-$size.txt"
    cat "$work/table-$size.txt"
done
