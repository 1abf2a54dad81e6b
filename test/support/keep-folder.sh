#!/bin/sh
# Removes the folder of servers after the process that started them has ended: `keep-folder.sh folder`
#
# The script waits until stdin is closed.
# Each server runs under supervise.sh, with a separate stdin that closes at the same moment.
# The servers hold a shared lock on a file in the folder, so the folder is removed only after they have ended.
# Disks that are mounted in the folder are unmounted first.
set -u
folder=$1
read -r _
exec flock --timeout 90 "$folder/lock" sh -c '
  for mounted in $(awk -v below="$1/" "index(\$2, below) == 1 { print \$2 }" /proc/mounts 2>/dev/null); do
    umount "$mounted" 2>/dev/null || { sleep 1; umount "$mounted" 2>/dev/null; } || umount -l "$mounted"
  done
  rm -rf --one-file-system "$1"
' sh "$folder"
