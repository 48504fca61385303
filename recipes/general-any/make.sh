#!/bin/sh
# Makes the shipped model general-any from the corpora. The two trainings take a minute each on a GPU;
# calibration takes about ten minutes of two CPU cores.
#
#     sh recipes/general-any/make.sh CORPORA WORK
#
# CORPORA holds train-lang/, whose files are named after the language and source of their texts, and
# dev-lang/. WORK is made, and what is there already is not done again.
set -eu
corpora=$1
work=$2
here=$(dirname "$0")

once() { # what a command makes, and the command
    made=$1
    shift
    [ -e "$made" ] || "$@"
}

# Two fifths of the authors of each larger source calibrate a twin that has not seen them. Bosnian and
# Swiss German are not found as languages of their own.
once "$work/twin-texts" python "$here/keep_back.py" "$corpora/train-lang" "$work"
set --
for source in "$corpora"/train-lang/*; do
    case $source in
    */bs-* | */gsw-*) ;;
    *) set -- "$@" "$source" ;;
    esac
done
once "$work/all" adhominem prepare "$@" -o "$work/all"
once "$work/some" adhominem prepare "$work"/twin-texts/* -o "$work/some"
once "$work/twin" adhominem train "$work/some" -o "$work/twin" --preset ngram-languages
once "$work/general-any" adhominem train "$work/all" -o "$work/general-any" --preset ngram-languages
cp "$here/genres.json" "$work/twin/"
cp "$here/genres.json" "$work/general-any/"
once "$work/twin/calibration.json" adhominem calibrate "$work/twin" "$work"/kept-back/*
once "$work/general-any/calibration.json" adhominem calibrate "$work/general-any" --twin "$work/twin"
python "$here/../../benchmarks/languages.py" "$corpora" --model "$work/general-any" --card
