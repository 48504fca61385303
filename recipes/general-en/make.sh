#!/bin/sh
# Makes the shipped model general-en from the corpora. Needs one GPU for the four trainings, and about
# half an hour of one CPU core for the rest.
#
#     sh recipes/general-en/make.sh CORPORA PACKAGES WORK
#
# CORPORA holds train/, train-extra/, train-kinds/, dev/ and machine/; PACKAGES is where packages that
# carry texts were unpacked (README.md beside this file says which); WORK is made. What is there already
# is not done again, and a training that was stopped goes on: after a stop, use the same command. What
# came out when the shipped weights were made is in README.md.
set -eu
corpora=$1
packages=$2
work=$3
here=$(dirname "$0")
mkdir -p "$work/texts"

once() { # what a command makes, and the command
    made=$1
    shift
    [ -e "$made" ] || "$@"
}

# Further documents of the training authors go to those of their corpus.
for name in blogs gutenberg parliament reddit scotus scp wright; do
    cat "$corpora/train/$name.jsonl.xz" >"$work/texts/$name.jsonl.xz"
    if [ -f "$corpora/train-extra/$name.jsonl.xz" ]; then
        cat "$corpora/train-extra/$name.jsonl.xz" >>"$work/texts/$name.jsonl.xz"
    fi
done

# A tenth of the authors is kept for calibration; of the seventeen further genres, half. A twin that
# has not seen them is calibrated with them; the n-grams of the model itself are of all authors.
once "$work/split" adhominem split "$work/texts" -o "$work/split" --shares 0.9 0.1 0 --seed 20
once "$work/kinds" adhominem split "$corpora/train-kinds" -o "$work/kinds" \
    --shares 0.5 0.5 0 --seed 20
once "$work/all" adhominem prepare "$work/split/train" "$work/kinds/train" -o "$work/all"
once "$work/every" adhominem prepare "$work/texts" "$corpora/train-kinds" -o "$work/every"

set --
for set_ in "$corpora"/dev/*; do
    set -- "$@" --dev "$set_"
done
once "$work/network" adhominem train "$work/all" "$@" -o "$work/network" --preset general --resume
# No dev set takes part in these; as many batches of the first seven genres as without the others.
for part in all every; do
    mkdir -p "$work/of-$part"
    once "$work/of-$part/ngrams" adhominem train "$work/$part" -o "$work/of-$part/ngrams" \
        --preset ngrams --resume --set training.table_sample=3000 --set training.weight_steps=1300 \
        --set training.projection_steps=2000 --set training.runs=8
done
once "$work/profile" adhominem train "$work/all" -o "$work/profile" --preset ngram-profile --resume \
    --set training.table_sample=3000 --set training.weight_steps=2300

# The ensemble gains nothing by other members of more authors, so these are the twin's. They bring
# their genres along, as does a model that was just trained: there is no --corpus to fit them to.
once "$work/twin" adhominem ensemble "$work/of-all/ngrams" "$work/profile" "$work/network" \
    -o "$work/twin" --corpus "$work/all"
once "$work/general-en" adhominem ensemble "$work/of-every/ngrams" "$work/twin/profile" \
    "$work/twin/network" -o "$work/general-en" --about "$here/about.md"
for model in twin general-en; do
    cp "$here/genres.json" "$work/$model/"
done

# What prose is like is learnt from more genres than authorship; verse and plays are none.
set --
for source in "$corpora"/train/*.jsonl.xz "$corpora"/train-kinds/*.jsonl.xz; do
    case $source in
    */poetry.jsonl.xz | */plays.jsonl.xz) ;;
    *) set -- "$@" "$source" ;;
    esac
done
once "$work/general-en/prose.json" adhominem prose "$work/general-en" "$@"

# What texts by machines look like, by machine and genre of the texts; those by people are one more
# genre each, beside those of the packages. Who wrote them plays no part: only where such texts lie is
# learnt.
python "$here/machine_texts.py" "$corpora/machine/texts.jsonl.xz" "$work/machine"
python "$here/public_texts.py" "$packages" "$work/public"
for model in "$work/twin" "$work/general-en"; do
    [ -e "$model/calibration.json" ] ||
        adhominem genres "$model" "$work"/machine/people/* "$work"/public/*
done
set --
for source in "$work"/machine/machines/*; do
    set -- "$@" --machine "$source"
done
once "$work/general-en/machine.safetensors" adhominem machine "$work/general-en" \
    "$work"/split/train/* "$work"/kinds/train/* "$work"/machine/people/* "$@"

# Sets by fewer than 20 authors are left out: how few people write says little of a genre.
set --
for source in "$work"/split/dev/* "$work"/kinds/dev/*; do
    case $source in
    */parliament* | */scp* | */academic* | */opinions* | */plays* | */ropensci*) ;;
    *) set -- "$@" "$source" ;;
    esac
done
for model in "" /ngrams /profile /network; do
    once "$work/twin$model/calibration.json" adhominem calibrate "$work/twin$model" "$@"
done
for model in "" /ngrams; do
    once "$work/general-en$model/calibration.json" adhominem calibrate "$work/general-en$model" \
        --twin "$work/twin$model"
done
for member in profile network; do # which are the same: what was learnt of them is theirs
    cp "$work/twin/$member"/validation-* "$work/twin/$member/README.md" \
        "$work/twin/$member/calibration.json" "$work/general-en/$member/"
done
python "$here/../../benchmarks/accuracy.py" "$corpora" --model "$work/general-en" --card
