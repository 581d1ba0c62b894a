#!/bin/sh
# make.sh [folder]: makes a virtual environment (by default .venv) with the libraries, and in it the package rollcall_types, with a
# module for each schema of Rollcall.
set -e
cd "$(dirname "$0")"
python3 -m venv "${1:-.venv}"
bin=${1:-.venv}/bin
"$bin/pip" install --quiet -r requirements.txt
types=$("$bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/rollcall_types
mkdir -p "$types"
for schema in ../../avro/*.avsc; do
  "$bin/dc-avro" generate-model --path "$schema" > "$types/$(basename "$schema" .avsc | tr - _).py"
done
