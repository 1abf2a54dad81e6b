#!/usr/bin/env bash
# Checks the package as it would be published, from what is in dist/.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
test -f dist/index.js || { echo 'There is no dist/: run npm run build first.'; exit 1; }
npm pack --ignore-scripts --silent --pack-destination "$folder"
npx publint "$folder"/*.tgz
npx attw "$folder"/*.tgz
node scripts/recipes.mjs "$folder"/*.tgz plain without-sqlite esbuild
