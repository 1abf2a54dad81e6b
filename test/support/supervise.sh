#!/bin/sh
# Runs a private server for as long as stdin stays open: `supervise.sh folder command…`
#
# The test runner holds the other end of stdin. When it closes it, or dies in whatever way, even by
# kill -9, the server is stopped and its folder removed: no run leaves a server behind.
set -u
folder=$1
shift

exec 3<&0 </dev/null
"$@" 3<&- &
server=$!

# A server that does not stop when asked is killed. It is our child until it is waited for, so its
# process id cannot have become another's.
{
  read -r _ <&3
  kill -TERM "$server"
  sleep 30 >/dev/null 3<&-
  kill -KILL "$server"
} 2>/dev/null &
watcher=$!

wait "$server"
code=$?
kill "$watcher" 2>/dev/null
rm -rf "$folder"
exit "$code"
