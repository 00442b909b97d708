#!/bin/sh
# Runs each script of bench/ with --help and checks that it prints its usage; what another script imports has none.
cd "$(dirname "$0")/../bench" || exit 2
status=0
for script in check *.py; do
  grep -q '; a module, not a program' "$script" && continue
  /usr/bin/python3 "$script" --help 2>&1 | grep -qi '^usage: ' || { echo "bench/$script --help prints no usage"; status=1; }
done
exit $status
