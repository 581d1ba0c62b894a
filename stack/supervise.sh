#!/bin/sh
# Runs "$@" and kills it when standard input closes, which it does however the parent ends, SIGKILL included.
# The pid of "$@" goes to file descriptor 3; the exit code is its own.
exec 4<&0
"$@" </dev/null 3>&- 4<&- &
pid=$!
echo $pid >&3
exec 3>&-
( while read -r _; do :; done; kill -KILL $pid ) <&4 >/dev/null 2>&1 &
watch=$!
wait $pid
code=$?
# before this shell ends, so that the watch cannot hit a pid that has been given to another process
kill -KILL $watch
exit $code
