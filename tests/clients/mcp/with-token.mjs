// Starts a program that can't send a bearer token, with a proxy before the server that
// adds one: node with-token.mjs PROGRAM [ARGUMENT]..., where {url} stands for the proxy's
// URL, with MCP_URL and MCP_TOKEN. Ends as the program ends.
import { spawn } from 'node:child_process';
import http from 'node:http';

const target = new URL(process.env.MCP_URL);
const server = http.createServer((request, response) => {
  const headers = { ...request.headers, authorization: `Bearer ${process.env.MCP_TOKEN}` };
  const options = { method: request.method, headers, path: target.pathname };
  const passed = http.request(target, options, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    // Streams show that they are open before they say anything.
    response.flushHeaders();
    answer.pipe(response);
  });
  passed.on('error', () => response.destroy());
  response.on('close', () => passed.destroy());
  request.pipe(passed);
});
server.listen(0, '127.0.0.1', () => {
  const url = `http://127.0.0.1:${server.address().port}/mcp`;
  const words = process.argv.slice(2).map((word) => word.replace('{url}', url));
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'inherit', 'inherit'] });
  child.on('exit', (code) => process.exit(code ?? 1));
});
