import { env as workerEnv } from "cloudflare:workers";
import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from "jose";
import { describe, expect, it, vi } from "vitest";
import { callerOf, signToken } from "../../worker/credentials";
import { values } from "./calls";
import { withContainer } from "./fake-container";

// Whom a request is taken to be from, by each way that a credential can come. What each may do: tests/edge/access_test.cpp.

const URL_OF_ROOM = "https://roombox.example/api/rooms/team-1";
const SECRET = "a secret of the test that is long enough for HS256";
const HOUR = 3600;
const now = () => Math.floor(Date.now() / 1000);

const envWith = (secrets: Record<string, string>) => ({ ...workerEnv, AUTH_MODE: "keys", ...secrets }) as Env;
const env = envWith({
  API_KEY: "one key",
  API_KEY_CI: "another",
  TOKEN_KEY: SECRET,
  TOKEN_KEY_NEXT: `${SECRET}, next`,
});
const request = (headers: Record<string, string> = {}, url = URL_OF_ROOM) => new Request(url, { headers });
const bearer = (credential: string) => request({ authorization: `Bearer ${credential}` });
const word = async (of: Request, within = env) => (await callerOf(of, within)).word;

interface Token {
  claims?: Record<string, unknown>;
  kid?: string;
  alg?: string;
  key?: string | CryptoKey;
  expires?: number | null;
}
function token({ claims, kid, alg = "HS256", key = SECRET, expires = now() + HOUR }: Token = {}): Promise<string> {
  const signed = new SignJWT({ room: "team-1", scope: ["exec", "read"], ...claims });
  signed.setProtectedHeader({ alg, ...(kid !== undefined && { kid }) });
  if (expires !== null) signed.setExpirationTime(expires);
  return signed.sign(typeof key === "string" ? new TextEncoder().encode(key) : key);
}

describe("an API key", () => {
  it("is any of those that are configured, in either header", async () => {
    expect(await callerOf(bearer("another"), env)).toMatchObject({ word: "key", spent: ["authorization"] });
    expect(await callerOf(bearer("another"), env)).toMatchObject({ name: "key:ci", counted: "key:ci" });
    expect(await word(request({ authorization: "bearer  another " }))).toBe("key");
    expect(await callerOf(request({ "x-api-key": "one key" }), env)).toMatchObject({
      word: "key",
      name: "key",
      spent: ["x-api-key"],
    });
  });

  it("is none that is only like one", async () => {
    for (const key of ["one", "ONE KEY", "one  key", "anothe", "anotherr", SECRET])
      expect(await word(request({ "x-api-key": key })), key).toBe("invalid");
  });

  it("is compared with all of them, however early one is found", async () => {
    const compare = vi.spyOn(crypto.subtle, "timingSafeEqual");
    await word(request({ "x-api-key": "one key" }));
    await word(request({ "x-api-key": "none of them" }));
    expect(compare).toHaveBeenCalledTimes(4);
    compare.mockRestore();
  });

  it("is not one that is empty", async () => {
    const unset = envWith({ API_KEY: "" });
    expect(await word(request(), unset)).toBe("unconfigured");
    expect(await word(request({ "x-api-key": " " }), unset)).toBe("unconfigured");
  });
});

it("lets nobody in where nothing is configured, and everybody where that is asked for", async () => {
  expect(await word(bearer("a key"), envWith({}))).toBe("unconfigured");
  expect(await word(request(), envWith({ AUTH_MODE: "open" }))).toBe("open");
  expect(await word(request(), envWith({ AUTH_MODE: "Open" }))).toBe("unconfigured");
  expect(await word(request())).toBe("missing");
  expect(await word(request({ authorization: "Basic b25lIGtleQ==" }))).toBe("missing");
});

describe("a room token", () => {
  it("is verified with a key that was read once, for that takes as long as the signature", async () => {
    const read = vi.spyOn(crypto.subtle, "importKey");
    const tokens = await Promise.all(["1", "2", "3"].map((jti) => token({ claims: { jti } })));
    read.mockClear();
    const fresh = envWith({ TOKEN_KEY: SECRET });
    for (const each of tokens) expect(await word(bearer(each), fresh)).toBe("token exec,read team-1");
    expect(read).toHaveBeenCalledTimes(1);
    read.mockRestore();
  });

  it("grants what it says", async () => {
    expect(await word(bearer(await token()))).toBe("token exec,read team-1");
    expect(await word(bearer(await token({ claims: { room: "team-*", scope: "files ports" } })))).toBe(
      "token files,ports team-*",
    );
  });

  it("is signed by the key that it names", async () => {
    expect(await word(bearer(await token({ kid: "next", key: `${SECRET}, next` })))).toBe("token exec,read team-1");
    expect(await word(bearer(await token({ kid: "next" })))).toBe("invalid");
    expect(await word(bearer(await token({ kid: "unknown" })))).toBe("invalid");
    expect(await word(bearer(await token({ key: "another secret that is as long as the first" })))).toBe("invalid");
  });

  it("may be signed elsewhere, with EdDSA, and verified by the public key alone", async () => {
    const { publicKey, privateKey } = await generateKeyPair("EdDSA", { extractable: true });
    const jwk = JSON.stringify(await exportJWK(publicKey));
    const outside = envWith({ TOKEN_KEY_APP: jwk });
    expect(await word(bearer(await token({ alg: "EdDSA", kid: "app", key: privateKey })), outside)).toBe(
      "token exec,read team-1",
    );
    // The text of a public key is no secret: nothing may be signed with it.
    expect(await word(bearer(await token({ kid: "app", key: jwk })), outside)).toBe("invalid");
  });

  it("ends", async () => {
    expect(await word(bearer(await token({ expires: now() - 1 })))).toBe("expired");
    expect(await word(bearer(await token({ expires: null })))).toBe("invalid");
    const soon = await token({ expires: now() + HOUR });
    expect(await word(bearer(soon))).toBe("token exec,read team-1");
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + HOUR * 1000 + 1000 });
    expect(await word(bearer(soon))).toBe("expired"); // though it was verified before
    vi.useRealTimers();
  });

  it("is none with claims that are no such", async () => {
    for (const claims of [
      { room: undefined },
      { room: "" },
      { room: "a\nroombox-caller:key" },
      { room: "a/b" },
      { room: ["team-1"] },
      { scope: undefined },
      { scope: { exec: true } },
    ])
      expect(await word(bearer(await token({ claims }))), JSON.stringify(claims)).toBe("invalid");
    expect(await word(bearer("a.b.c"))).toBe("invalid");
    const [header, payload] = (await token()).split(".");
    expect(await word(bearer(`${header}.${payload}.`))).toBe("invalid");
    const none = `${btoa('{"alg":"none"}').replaceAll("=", "")}.${payload}.`;
    expect(await word(bearer(none))).toBe("invalid");
  });

  it("keeps its scopes in their place, whatever they are: the core knows which there are", async () => {
    for (const [scope, told] of [
      [["admin"], "admin"],
      [["exec,delete"], "exec%2Cdelete"],
      [["exec", 1], "exec,1"],
      ["exec\nroombox-caller:key", "exec%0Aroombox-caller%3Akey"],
      [["read team-2", "\ud800"], "read%20team-2,%EF%BF%BD"],
    ])
      expect(await word(bearer(await token({ claims: { scope } })))).toBe(`token ${told} team-1`);
  });

  it("is called by its key and by what it says of itself, with nothing of the credential", async () => {
    const name = async (of: Token) => (await callerOf(bearer(await token(of)), env)).name;
    expect(await name({})).toBe("token");
    expect(await name({ kid: "next", key: `${SECRET}, next` })).toBe("token:next");
    expect(await name({ claims: { sub: "user-7", jti: "1" } })).toBe("token;sub=user-7;jti=1");
    expect(await name({ claims: { sub: "a;ticket\nkey:ci é" } })).toBe("token;sub=a%3Bticket%0Akey%3Aci%20%C3%A9");
    expect(await name({ claims: { sub: "x".repeat(1000), jti: 7 } })).toBe(`token;sub=${"x".repeat(64)}`);
    expect(await name({ kid: "unknown" })).toBe("-");
    const [one, other] = [await token(), await token({ claims: { jti: "other" } })];
    const counted = async (of: string) => (await callerOf(bearer(of), env)).counted;
    expect(await counted(one)).toBe(await counted(one));
    expect(await counted(one)).not.toBe(await counted(other));
    for (const part of one.split(".")) expect(await counted(one)).not.toContain(part.slice(-12));
  });

  it("of a key that cannot be read is told so, and all other callers go on", async () => {
    const { privateKey } = await generateKeyPair("EdDSA", { extractable: true });
    const jwk = JSON.stringify(await exportJWK(privateKey)); // private: not to be verified with
    const pem = "-----BEGIN PUBLIC KEY-----\nnone";
    const broken = envWith({ API_KEY: "k", TOKEN_KEY: SECRET, TOKEN_KEY_A: "{", TOKEN_KEY_B: pem, TOKEN_KEY_C: jwk });
    for (const kid of ["a", "b", "c"]) {
      const bad = bearer(await token({ alg: "EdDSA", kid, key: privateKey }));
      expect(await callerOf(bad, broken)).toMatchObject({
        word: `unreadable TOKEN_KEY_${kid.toUpperCase()}`,
        name: "-",
      });
    }
    expect(await word(bearer("k"), broken)).toBe("key");
    expect(await word(bearer(await token()), broken)).toBe("token exec,read team-1");
    expect((await signToken(broken, "r", "exec", 1000)).name).toBe("token");
  });

  it("is signed by no public key, however that is written, nor by what could be guessed", async () => {
    const { publicKey } = await generateKeyPair("EdDSA", { extractable: true });
    const [jwk, pem] = [JSON.stringify(await exportJWK(publicKey)), await exportSPKI(publicKey)];
    const der = pem.replaceAll(/-----[A-Z ]+-----|\s/g, "");
    const other = (text: string) => [`{"keys":[${text}]}`, `[${text}]`, JSON.stringify(text), `key=${text}`];
    for (const text of [...other(jwk), ...other(pem), der, `${der}\n`, "x".repeat(31), " ".repeat(40)]) {
      const within = envWith({ API_KEY: "k", TOKEN_KEY: text });
      for (const key of [text, text.trim()].filter(Boolean))
        expect(await word(bearer(await token({ key })), within), text).not.toMatch(/^token/);
      expect((await signToken(within, "r", "exec", 1000)).name, text).toBe("no_token_key");
    }
    for (const text of [` ${jwk}`, `\n${pem}`, `\ufeff${pem}`]) {
      const within = envWith({ TOKEN_KEY: text });
      expect(await word(bearer(await token({ key: text })), within), text).toBe("invalid");
    }
  });

  it("is one, and counted as one, however its signature is written", async () => {
    const [head, last] = [(await token()).slice(0, -1), (await token()).slice(-1)];
    const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const sameBytes = digits[digits.indexOf(last) ^ 1]; // the last two bits are of no byte
    const { counted } = await callerOf(bearer(head + last), env);
    expect((await callerOf(bearer(`${head}${sameBytes}`), env)).counted).toBe(counted);
    for (const other of [`${head}${last}=`, `${head}\t${last}`, `${head}${last}.`])
      expect(await word(bearer(other))).toMatch(/invalid|missing/);
  });

  it("is signed by request, with the last of the secrets", async () => {
    const { name, fields } = await signToken(env, "team-1", "exec,files", HOUR * 1000);
    expect(name).toBe("token");
    const { credential = "", expires_ms } = values(fields);
    expect(await word(bearer(credential))).toBe("token exec,files team-1");
    expect(Number(expires_ms) / 1000 - now()).toBeGreaterThan(HOUR - 5);
    expect((await signToken(envWith({ API_KEY: "k" }), "r", "exec", 1000)).name).toBe("no_token_key");
  });
});

describe("a WebSocket, whose client cannot send headers", () => {
  const socket = (headers: Record<string, string> = {}, url = URL_OF_ROOM) =>
    request({ upgrade: "websocket", ...headers }, url);

  it("brings a credential as a protocol that it offers", async () => {
    const offered = `roombox, roombox.credential.${await token()}`;
    expect(await callerOf(socket({ "sec-websocket-protocol": offered }), env)).toMatchObject({
      word: "token exec,read team-1",
      spent: ["sec-websocket-protocol"],
    });
    expect(await word(request({ "sec-websocket-protocol": offered }))).toBe("missing");
  });

  it("brings a key in its URL where the SDK does, and nowhere else", async () => {
    const sdk = "https://roombox.example/api/sandboxes/r/exec/exec_1";
    expect(await word(socket({}, `${sdk}?api_key=another`))).toBe("key");
    expect(await word(socket({}, `${sdk}?token=another`))).toBe("key");
    expect(await word(request({}, `${sdk}?api_key=another`))).toBe("missing");
    expect(await word(socket({}, `${URL_OF_ROOM}?api_key=another`))).toBe("missing");
  });

  it("is the one call that brings them so: a ticket makes no other, in particular no ticket", async () => {
    const headers = { upgrade: "websocket", "sec-websocket-protocol": `roombox.credential.${await token()}` };
    const sdk = "https://roombox.example/api/sandboxes/r/exec/exec_1?api_key=another";
    for (const method of ["POST", "PUT", "HEAD", "DELETE"]) {
      expect(await word(new Request(URL_OF_ROOM, { method, headers }))).toBe("missing");
      expect(await word(new Request(sdk, { method, headers: { upgrade: "websocket" } }))).toBe("missing");
    }
  });

  it("keeps what else it brings of ours from servers in the sandbox", async () => {
    const protocol = { "sec-websocket-protocol": "roombox, roombox.credential.x" };
    const spent = async (headers: Record<string, string>) => (await callerOf(socket(headers), env)).spent;
    expect(await spent({ authorization: "Bearer another", ...protocol })).toEqual([
      "authorization",
      "sec-websocket-protocol",
    ]);
    expect(await spent({ "x-api-key": "another", authorization: "Bearer another" })).toEqual([
      "x-api-key",
      "authorization",
    ]);
    expect(await spent({ "x-api-key": "another", authorization: "Bearer of a server" })).toEqual(["x-api-key"]);
  });

  it("has its protocol answered where nobody needs a credential, as a browser wants it", async () => {
    const open = { ...env, AUTH_MODE: "open" } as Env;
    const protocol = { "sec-websocket-protocol": "roombox, roombox.credential.x" };
    const spent = async (headers: Record<string, string>) => (await callerOf(socket(headers), open)).spent;
    expect(await spent({ authorization: "Bearer another", ...protocol })).toEqual(["sec-websocket-protocol"]);
    expect(await spent({ "sec-websocket-protocol": "chat" })).toEqual([]);
  });

  it("brings a ticket, once and within its minute", async () => {
    const made = () =>
      withContainer("sandbox-team-1", async (sandbox) => {
        ticket =
          values((await sandbox.ticket({ scopes: "attach", maker: "token;sub=user-7" })).fields).credential ?? "";
      });
    let ticket = "";
    await made();
    expect(ticket).toMatch(/^ticket\.team-1\.[0-9a-f]{32}$/);
    const bring = () => word(socket({}, `${URL_OF_ROOM}?ticket=${ticket}`));
    const { name } = await callerOf(socket({}, `${URL_OF_ROOM}?ticket=${ticket}`), env);
    expect(name).toBe("token;sub=user-7;ticket");
    expect(await bring()).toBe("expired");
    await made();
    expect(await bring()).toBe("token attach team-1");
    expect(await bring()).toBe("expired");
    await made();
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 61_000 });
    expect(await bring()).toBe("expired");
    vi.useRealTimers();
    expect(await word(socket({}, `${URL_OF_ROOM}?ticket=ticket.team-1.${"0".repeat(32)}`))).toBe("expired");
    for (const bad of [
      "ticket.team-1.",
      "ticket..x",
      ...["a/b", ".a", "a-", "x".repeat(65)].map((id) => `ticket.${id}.${"0".repeat(32)}`),
    ])
      expect(await word(socket({}, `${URL_OF_ROOM}?ticket=${encodeURIComponent(bad)}`))).toBe("invalid");
  });
});
