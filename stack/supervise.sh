#!/bin/sh
# Runs "$@" and kills it when standard input closes, which happens when the parent ends, even by SIGKILL.
# It writes the pid of "$@" to file descriptor 3, and exits with the exit code of "$@".
exec 4<&0
"$@" </dev/null 3>&- 4<&- &
pid=$!
echo $pid >&3
exec 3>&-
( while read -r _; do :; done; kill -KILL $pid ) <&4 >/dev/null 2>&1 &
watch=$!
wait $pid
code=$?
# before this shell ends, so that the watch cannot kill another process that got the same pid
kill -KILL $watch
exit $code
