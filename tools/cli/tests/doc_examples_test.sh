#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# doc_examples_test.sh SOURCE PAGE PROGRAM...: runs the console blocks of a documentation page in a temporary folder that has tools/ of the
# source tree. PATH finds the programs.
set -u
source=$1 page=$2
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin" "$folder/run"
ln -s "$@" "$folder/bin/"
ln -s "$source/tools" "$folder/run/tools"
PATH=$folder/bin:$PATH "$source/tools/scripts/doc-examples" "$page" "$folder/run"
