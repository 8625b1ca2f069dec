// What a client of the official TypeScript SDK sees of a run: node session.mjs v1|v2, with
// MCP_URL, MCP_TOKEN, and for the turn in between TURNS_URL and BACKEND_TOKEN.
// Prints one JSON object.

const url = new URL(process.env.MCP_URL);
const requestInit = { headers: { authorization: `Bearer ${process.env.MCP_TOKEN}` } };
const about = { name: 'guilds-tests', version: '1' };

async function turn() {
  const headers = { authorization: `Bearer ${process.env.BACKEND_TOKEN}` };
  const answer = await fetch(process.env.TURNS_URL, { method: 'POST', headers });
  if (!answer.ok) throw new Error(`turn: ${answer.status}`);
}

// Resolves once the client was told that the list of tools changed.
function notified() {
  let heard;
  const changed = new Promise((resolve) => (heard = resolve));
  return { heard, changed };
}

// The SDK of the revisions with a handshake.
async function first() {
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
  const { StreamableHTTPClientTransport } = await import(
    '@modelcontextprotocol/sdk/client/streamableHttp.js'
  );
  const { ToolListChangedNotificationSchema } = await import('@modelcontextprotocol/sdk/types.js');
  const client = new Client(about);
  const { heard, changed } = notified();
  client.setNotificationHandler(ToolListChangedNotificationSchema, heard);
  const transport = new StreamableHTTPClientTransport(url, { requestInit });
  await client.connect(transport);
  await client.ping();
  return { client, changed, revision: transport.protocolVersion, listen: async () => {} };
}

// The SDK that speaks both eras, asked for the newer one.
async function second() {
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const { heard, changed } = notified();
  const client = new Client(about, { versionNegotiation: { mode: 'auto' } });
  client.setNotificationHandler('notifications/tools/list_changed', heard);
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit }));
  const revision = client.getNegotiatedProtocolVersion();
  const listen = () => client.listen({ toolsListChanged: true });
  return { client, changed, revision, listen };
}

const { client, changed, revision, listen } = await (process.argv[2] === 'v1' ? first() : second());
const call = async (name, args) => {
  const result = await client.callTool({ name, arguments: args });
  return { isError: result.isError, text: result.content[0].text };
};
const tools = (await client.listTools()).tools;
const written = await call('note_write', { level: 'agent', key: 'sdk.md', content: 'hello' });
const unknown = await call('note_raed', {});
await listen();
// A stream that is opened by GET has no answer that tells when it is open.
await new Promise((resolve) => setTimeout(resolve, 500));
await turn();
await changed;
const after = (await client.listTools()).tools;
console.log(JSON.stringify({ revision, tools, written, unknown, after }));
await client.close();
process.exit(0);
