import { expect, it } from "vitest";
import { json, type Reply, roomOf, serve } from "./server";

const listing = json(200, { path: "/d", entries: [] });
const bytes: Reply = (response) =>
  response.writeHead(200, { "content-type": "application/octet-stream", "content-length": "2" }).end("[]");

it("a directory is no file, nor the other way round: said at once", async () => {
  const { url, received } = await serve(listing);
  const { files } = roomOf(url);
  const directory = { code: "conflict", status: 409, message: "path: expected a file, /d is a directory" };
  await expect(files.read("/d")).rejects.toMatchObject(directory);
  await expect(files.text("/d")).rejects.toMatchObject(directory);
  await expect(files.stream("/d")).rejects.toMatchObject(directory);
  expect(received).toHaveLength(3);

  const file = await serve(bytes);
  const message = "path: expected a directory, /f is a file";
  await expect(roomOf(file.url).files.list("/f")).rejects.toMatchObject({ code: "conflict", message });
  expect(await roomOf(file.url).files.text("/f")).toBe("[]");
  expect(file.received).toHaveLength(2);
});
