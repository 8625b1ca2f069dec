"""What a client of the official Python SDK sees of a run: session.py legacy|auto, with
MCP_URL, MCP_TOKEN, and for the turn in between TURNS_URL and BACKEND_TOKEN.
Prints one JSON object."""

import asyncio
import json
import os
import sys
import urllib.request

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


def turn():
    token = os.environ["BACKEND_TOKEN"]
    request = urllib.request.Request(
        os.environ["TURNS_URL"], method="POST", headers={"authorization": f"Bearer {token}"}
    )
    urllib.request.urlopen(request).read()


def dumped(tools):
    return [tool.model_dump(mode="json", by_alias=True, exclude_unset=True) for tool in tools]


async def call(client, name, arguments):
    result = await client.call_tool(name, arguments)
    return {"isError": result.is_error, "text": result.content[0].text}


async def main(mode):
    headers = {"authorization": f"Bearer {os.environ['MCP_TOKEN']}"}
    changed = asyncio.Event()

    async def heard(message):
        if getattr(message, "method", None) == "notifications/tools/list_changed":
            changed.set()

    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        transport = streamable_http_client(os.environ["MCP_URL"], http_client=http)
        async with Client(transport, mode=mode, message_handler=heard) as client:
            tools = (await client.list_tools()).tools
            written = await call(
                client, "note_write", {"level": "agent", "key": "sdk.md", "content": "hello"}
            )
            unknown = await call(client, "note_raed", {})
            if mode == "legacy":
                # The stream that is opened by GET has no answer that tells when it is open.
                await asyncio.sleep(0.5)
                await asyncio.to_thread(turn)
                await asyncio.wait_for(changed.wait(), 30)
            else:
                async with client.listen(tools_list_changed=True) as subscription:
                    await asyncio.to_thread(turn)
                    async for _ in subscription:
                        break
            after = (await client.list_tools()).tools
            seen = {
                "revision": client.protocol_version,
                "tools": dumped(tools),
                "written": written,
                "unknown": unknown,
                "after": dumped(after),
            }
    print(json.dumps(seen))


asyncio.run(main(sys.argv[1]))
