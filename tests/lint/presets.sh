#!/bin/sh
# presets.sh ROOT CMAKE: the presets can be read by the oldest CMake that the build says it needs.
set -eu
. "$(dirname "$0")/common.sh"
cmake=${2:?cmake}

least=$(sed -n 's/^cmake_minimum_required(VERSION \([0-9.]*\)).*/\1/p' CMakeLists.txt)
# Which version of the format came with which CMake, 3.N.
format=$(sed -n 's/^ *"version": \([0-9]*\),.*/\1/p' CMakePresets.json)
case $format in 1) needs=19 ;; 2) needs=20 ;; 3) needs=21 ;; 4) needs=23 ;; *) needs=99 ;; esac
[ "${least#3.}" -ge "$needs" ] ||
    echo "CMakePresets.json: version $format needs CMake 3.$needs, the build $least" >> "$report"
said=$(sed -n 's/.*"major": \([0-9]*\), "minor": \([0-9]*\),.*/\1.\2/p' CMakePresets.json)
[ "$said" = "$least" ] ||
    echo "CMakePresets.json: says that it needs $said, CMakeLists.txt says $least" >> "$report"
for kind in configure build test; do
    "$cmake" --list-presets=$kind > "$report.list" 2>&1 && grep -q '"dev"' "$report.list" ||
        cat "$report.list" >> "$report"
done
rm -f "$report.list"
finish "3" "kinds of presets that CMake $least reads"
