// An HTTP server in another language on the listener that it inherits as descriptor 3.
const http = require('http');
if (process.env.LISTEN_FDS !== '1' || Number(process.env.LISTEN_PID) !== process.pid) {
  console.error('no LISTEN_FDS for me', process.env.LISTEN_FDS, process.env.LISTEN_PID, process.pid);
  process.exit(1);
}
const server = http.createServer((request, response) => {
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify({language: 'javascript', pid: process.pid}));
});
server.listen({fd: 3});
process.on('SIGTERM', () => server.close(() => process.exit(0)));
