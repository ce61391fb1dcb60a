"""What a plain Python server makes of the same: the shell by asyncio, a JSON answer, or the bytes of its stdout
passed on. One of the peers that agent_bench puts beside the agent.

    python3 python_server.py <shell> <port>
"""

import asyncio
import json
import sys

SHELL, PORT = sys.argv[1], int(sys.argv[2])
PIPE, DEVNULL = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
PIECE = 256 << 10


def head(*fields):
    return "\r\n".join(["HTTP/1.1 200 OK", *fields, "", ""]).encode()


async def run(cmd, writer):
    """Runs a command, and answers the request when it and its output have ended."""
    child = await asyncio.create_subprocess_exec(SHELL, "-c", cmd, stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
    out, err = await child.communicate()
    text = {"stdout": out.decode(errors="replace"), "stderr": err.decode(errors="replace")}
    body = json.dumps(text | {"exitCode": child.returncode}, separators=(",", ":")).encode()
    writer.write(head("Content-Type: application/json", f"Content-Length: {len(body)}") + body)
    await writer.drain()


async def stream(cmd, writer):
    child = await asyncio.create_subprocess_exec(SHELL, "-c", cmd, stdin=DEVNULL, stdout=PIPE, limit=PIECE)
    writer.write(head("Content-Type: application/octet-stream", "Connection: close"))
    while piece := await child.stdout.read(PIECE):
        writer.write(piece)
        await writer.drain()
    await child.wait()
    writer.close()


async def serve(reader, writer):
    while not writer.is_closing():
        try:
            lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        except asyncio.IncompleteReadError:
            break
        fields = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
        request = json.loads(await reader.readexactly(int(fields["content-length"])))
        await (stream if request.get("stream") else run)(request["cmd"], writer)
    writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", PORT)
    await server.serve_forever()


asyncio.run(main())
