#!/usr/bin/env bash
# Checks the package as npm would publish it, from the files in dist/.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
test -f dist/index.js || { echo 'dist/ not found: run npm run build first.'; exit 1; }
npm pack --ignore-scripts --silent --pack-destination "$folder"
npx publint "$folder"/*.tgz
npx attw "$folder"/*.tgz
node scripts/recipes.mjs "$folder"/*.tgz plain without-drivers esbuild
