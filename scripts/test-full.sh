#!/usr/bin/env bash
# `npm run test:full`: runs every test at full length on every database, and the version-dependent tests on every
# supported version of Node.js. Takes up to an hour. Continues after a failure, so that one run shows all failures. The
# last lines repeat the results of each part.
set -uo pipefail
cd "$(dirname "$0")/.."
output=$(mktemp)
trap 'rm -f "$output"' EXIT
# On a signal, no other part starts; scripts/test.mjs ends when its parent does.
trap 'exit 130' INT TERM
failed=0
figures=()

part() {
  local name=$1 started=$SECONDS
  shift
  printf '\n== %s\n' "$name"
  "$@" > >(tee "$output") 2>&1 &
  wait $! || failed=1
  figures+=("$name: $(grep -E '^([0-9]+ passed, [0-9]+ failed| +Tests .*)$' "$output" | tail -n 1 | xargs), $((SECONDS - started)) s")
}

part 'all suites on all databases' env KALENDS_TEST_SUITE=full node scripts/test.mjs "$@"
# With filters, only the first part runs.
if [ $# -gt 0 ]; then exit "$failed"; fi
part 'documentation site, with its links' npm run docs
part 'screenshots' env NO_COLOR=1 KALENDS_SCREENSHOTS="$(mktemp -d)" npx vitest run --config test/ui/screenshots.config.ts
# The npm package "node" contains the Node.js binary. -c puts it on PATH; without -c, tools use npx's own Node.js.
for version in 20 22 24 26; do
  if [ "$version" = "$(node -p 'process.versions.node.split(".")[0]')" ]; then continue; fi
  part "version-dependent tests on Node.js $version" \
    env KALENDS_TEST_SUITE=matrix KALENDS_TEST_DATABASES=sqlite npx -y -p "node@$version" -c 'node scripts/test.mjs'
done

printf '\n'
printf '%s\n' "${figures[@]}"
exit "$failed"
