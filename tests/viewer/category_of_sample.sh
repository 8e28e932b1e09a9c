#!/bin/sh
# category_of_sample.sh TIDEMARK SEQ2SEQ TEST_CATEGORY: records the C sample; test_category compares
# each of its blocks with the view.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" record -o "$folder/run.db" -- "$2" > "$folder/said" 2>&1 || { cat "$folder/said"; exit 1; }
TIDEMARK_COMPARE=$folder/run.db "$3" a_recording_of_somebody
