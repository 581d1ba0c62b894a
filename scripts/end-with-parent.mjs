// Preloaded into a child: when the parent goes away, even by SIGKILL, its end of the pipe closes and this process ends in order.
import { Socket } from 'node:net';

const fd = Number(process.env.ROLLCALL_PARENT_FD);
// children of this process must not take the same number for a pipe of theirs
delete process.env.ROLLCALL_PARENT_FD;
if (fd > 2) {
  const pipe = new Socket({ fd, readable: true, writable: false });
  pipe.on('error', () => {});
  pipe.on('close', () => process.kill(process.pid, 'SIGTERM'));
  pipe.resume();
  pipe.unref();
}
