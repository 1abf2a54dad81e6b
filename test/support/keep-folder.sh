#!/bin/sh
# Removes the folder of servers once whoever started them has gone: `keep-folder.sh folder`
#
# Holds on for as long as stdin stays open. The servers, each under supervise.sh on a stdin of its own, end at
# the same moment; they hold a shared lock on a file in the folder, so nothing is removed under their feet.
# A disk of its own that the folder may have is let go first.
set -u
folder=$1
read -r _
exec flock --timeout 90 "$folder/lock" sh -c '
  for mounted in $(awk -v below="$1/" "index(\$2, below) == 1 { print \$2 }" /proc/mounts 2>/dev/null); do
    umount "$mounted" 2>/dev/null || { sleep 1; umount "$mounted" 2>/dev/null; } || umount -l "$mounted"
  done
  rm -rf --one-file-system "$1"
' sh "$folder"
