#!/bin/sh
# Removes the folder of a cluster once whoever started it has gone: `galera-keep.sh folder`
#
# Holds on for as long as stdin stays open. The nodes, each under supervise.sh on a stdin of its own, end at
# the same moment; they hold a shared lock on a file in the folder, so nothing is removed under their feet.
set -u
folder=$1
read -r _
exec flock --timeout 90 "$folder/lock" rm -rf "$folder"
