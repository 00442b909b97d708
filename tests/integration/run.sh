#!/bin/sh
# Runs the tests beside this file against $METAFUSE; their packages are kept in $1.
set -eu
folder=$1
here=$(cd "$(dirname "$0")" && pwd)
export METAFUSE_SOURCE="$here/../.."
for program in node npm chromium; do
  command -v "$program" > /dev/null || { echo "SKIPPED: $program is not installed (scripts/test --full)"; exit 77; }
done
mkdir -p "$folder"
cp "$here"/*.mjs "$folder"/
cd "$folder"
if ! [ -d node_modules ] || ! cmp -s "$here"/package.json package.json; then
  cp "$here"/package.json .
  # without scripts: isolated-vm, which n8n-workflow names and these tests do not load, compiles only for a newer Node.js
  PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm install --ignore-scripts --no-audit --no-fund --silent ||
    { rm -f package.json; echo "SKIPPED: npm cannot install the packages of tests/integration/package.json"; exit 77; }
fi
node "$2"
