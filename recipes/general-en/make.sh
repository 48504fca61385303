#!/bin/sh
# Makes the shipped model general-en from the corpora. Needs one GPU for the three trainings (about
# 20 minutes on an H200, side by side) and about half an hour of one CPU core for the rest.
#
#     sh recipes/general-en/make.sh CORPORA WORK
#
# CORPORA holds train/, train-extra/, train-kinds/ and dev/; WORK is made. What came out when the shipped weights
# were made is in README.md beside this file.
set -eu
corpora=$1
work=$2
here=$(dirname "$0")
mkdir -p "$work/texts"

# Further documents of the training authors go to those of their corpus.
for name in blogs gutenberg parliament reddit scotus scp wright; do
    cat "$corpora/train/$name.jsonl.xz" >"$work/texts/$name.jsonl.xz"
    if [ -f "$corpora/train-extra/$name.jsonl.xz" ]; then
        cat "$corpora/train-extra/$name.jsonl.xz" >>"$work/texts/$name.jsonl.xz"
    fi
done

# A tenth of the authors is for calibration; of further genres, which the encoders are not trained
# on, half: where the texts of the other half lie is what the model learns of them.
adhominem split "$work/texts" -o "$work/split" --shares 0.9 0.1 0 --seed 20
adhominem prepare "$work/split/train" -o "$work/corpus"
adhominem split "$corpora/train-kinds" -o "$work/kinds" --shares 0.5 0.5 0 --seed 20

set --
for set_ in "$corpora"/dev/*; do
    set -- "$@" --dev "$set_"
done
adhominem train "$work/corpus" "$@" -o "$work/ngrams" --preset ngrams
adhominem train "$work/corpus" "$@" -o "$work/profile" --preset ngram-profile
adhominem train "$work/corpus" "$@" -o "$work/network" --preset general

adhominem ensemble "$work/ngrams" "$work/profile" "$work/network" -o "$work/general-en" \
    --corpus "$work/corpus" --about "$here/about.md"
cp "$here/genres.json" "$work/general-en/"

# What prose is like is learnt from more genres than authorship; verse and plays are none.
set --
for source in "$corpora"/train/*.jsonl.xz "$corpora"/train-kinds/*.jsonl.xz; do
    case $source in
    */poetry.jsonl.xz | */plays.jsonl.xz) ;;
    *) set -- "$@" "$source" ;;
    esac
done
adhominem prose "$work/general-en" "$@"

# What texts by machines look like, by machine and genre of the texts; those by people are one more
# genre each.
mkdir -p "$work/machine/people" "$work/machine/machines"
python "$here/machine_texts.py" "$corpora/machine/texts.jsonl.xz" "$work/machine"
set --
for source in "$work"/machine/machines/*; do
    set -- "$@" --machine "$source"
done
adhominem machine "$work/general-en" "$work"/split/train/* "$work"/kinds/train/* \
    "$work"/machine/people/* "$@"

adhominem genres "$work/general-en" "$work"/kinds/train/*
cases=60
for model in "$work/general-en" "$work"/general-en/*/; do
    adhominem calibrate "$model" "$work"/split/dev/* "$corpora/train-extra/wright-ocr.jsonl.xz" \
        "$work"/kinds/dev/* --cases "$cases"
    cases=20  # of members by themselves, fewer
done
python "$here/../../benchmarks/accuracy.py" "$corpora" --model "$work/general-en" --card
