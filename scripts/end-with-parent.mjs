// Preloaded into a child: when the parent ends, even by SIGKILL, the pipe closes and this process stops gracefully.
import { Socket } from 'node:net';

const fd = Number(process.env.ROLLCALL_PARENT_FD);
// a child of this process must not use the same number for its own pipe
delete process.env.ROLLCALL_PARENT_FD;
if (fd > 2) {
  const pipe = new Socket({ fd, readable: true, writable: false });
  pipe.on('error', () => {});
  pipe.on('close', () => process.kill(process.pid, 'SIGTERM'));
  pipe.resume();
  pipe.unref();
}
