#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# doc_examples_test.sh SOURCE PAGE PROGRAM...: runs the console blocks of a page in a folder with the tree's tools/; the programs are in
# PATH.
set -u
source=$1 page=$2
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin" "$folder/run"
ln -s "$@" "$folder/bin/"
ln -s "$source/tools" "$folder/run/tools"
PATH=$folder/bin:$PATH "$source/tools/scripts/doc-examples" "$page" "$folder/run"
