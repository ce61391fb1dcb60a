import { errors, importJWK, importSPKI, type JWTHeaderParameters, jwtVerify, SignJWT } from "jose";
import { writeFields } from "./fields";
import { sandboxOf } from "./names";
import type { Outcome } from "./outcome";

/** Whom a request is from, and what of it is the credential: that is for nobody behind us. */
export interface Caller {
  /** What the core reads as Request::caller (wasm/edge.h). */
  word: string;
  /**
   * What logs call it, with nothing of the credential: the key that vouches for it, `key:ci` or `token:2027`, then what a token
   * says of itself, `;sub=…` and `;jti=…`, then `;ticket` where that one made a ticket. `open` without credentials, `-` for nobody.
   */
  name: string;
  /** Whose calls are counted together: for the limiter alone. */
  counted: string;
  /** Headers that brought the credential. */
  spent: string[];
}

const encoder = new TextEncoder();

/** A WebSocket's client that cannot send headers offers two protocols: this one, which is answered, and its credential. */
export const PROTOCOL = "roombox";
export const PROTOCOL_HEADER = "sec-websocket-protocol";
const CREDENTIAL_PROTOCOL = "roombox.credential.";

/** Names of secrets: one of them alone, or several, each with a name of its own behind it, so that they can take turns. */
const API_KEY = /^API_KEY(?:_([A-Z0-9_]+))?$/;
const TOKEN_KEY = /^TOKEN_KEY(?:_([A-Z0-9_]+))?$/;

const ROOM = /^[A-Za-z0-9._-]{0,64}\*?$/;

/** Characters that are told of each name that a token gives itself. */
const NAME_LENGTH = 64;

/** What a credential stands for. */
type Grant = Omit<Caller, "spent">;

const NOBODY = "-";
const refusal = (word: string): Grant => ({ word, name: NOBODY, counted: "" });

/** Finds out whom a request is from. */
export async function callerOf(request: Request, env: Env): Promise<Caller> {
  if (env.AUTH_MODE === "open") return openTo(request);
  const keys = await keysOf(env);
  const found = credentialOf(request);
  if (!keys.any) return nobody("unconfigured");
  if (!found) return nobody("missing");
  const { credential, spent } = found;
  const key = apiKey(await digest(credential), keys);
  if (key !== undefined) return { word: "key", name: key, counted: key, spent };
  const grant = await (credential.startsWith(TICKET) ? redeem(credential, env) : grantOf(credential, keys));
  return { ...grant, spent };
}

/** A credential that nobody needs stays where it is, but for that of a WebSocket: a browser wants its protocol answered. */
function openTo(request: Request): Caller {
  const spent = offeredBy(request) === undefined ? [] : [PROTOCOL_HEADER];
  return { word: "open", name: "open", counted: "", spent };
}

export const nobody = (word: string): Caller => ({ ...refusal(word), spent: [] });

/** The first of those that a request can bring it in, and all headers that have one of ours. */
function credentialOf(request: Request): { credential: string; spent: string[] } | undefined {
  const { headers } = request;
  const key = headers.get("x-api-key") || undefined;
  const [, bearer] = /^Bearer +(\S+) *$/i.exec(headers.get("authorization") ?? "") ?? [];
  const protocol = offeredBy(request);
  const credential = key ?? bearer ?? (isSocket(request) ? protocol || inQuery(request) : undefined);
  const brought: [header: string, isOurs: boolean][] = [
    ["x-api-key", key !== undefined],
    ["authorization", bearer === credential], // with X-API-Key another may be for a server in the sandbox
    [PROTOCOL_HEADER, protocol !== undefined],
  ];
  const spent = brought.filter(([, isOurs]) => isOurs).map(([header]) => header);
  return credential ? { credential, spent } : undefined;
}

/** The credential among the protocols that are offered. */
function offeredBy({ headers }: Request): string | undefined {
  const offered = (headers.get(PROTOCOL_HEADER) ?? "").split(/ *, */);
  return offered.find((each) => each.startsWith(CREDENTIAL_PROTOCOL))?.slice(CREDENTIAL_PROTOCOL.length);
}

/** The one call that a browser cannot send headers with: no other may bring a credential in other places. */
const isSocket = ({ method, headers }: Request) =>
  method === "GET" && headers.get("upgrade")?.toLowerCase() === "websocket";

function inQuery({ url }: Request): string | undefined {
  const { pathname, searchParams } = new URL(url);
  const names = pathname.startsWith("/api/sandboxes/") ? ["ticket", "api_key", "token"] : ["ticket"];
  return names.map((name) => searchParams.get(name)).find((value) => value !== null) ?? undefined;
}

// API keys.

/** The keys of an environment, as they are compared and verified with. */
interface Keys {
  any: boolean;
  /** By what logs call them. */
  api: [name: string, digest: ArrayBuffer][];
  /** By `kid`. */
  token: Map<string, TokenKey>;
}
interface TokenKey {
  /** The secret's. */
  name: string;
  /** Undefined: it is neither a public key nor a secret that is long enough. */
  key: CryptoKey | undefined;
  algorithm: "HS256" | "EdDSA";
}
let known: { env: Env; keys: Promise<Keys> } | undefined;

function keysOf(env: Env): Promise<Keys> {
  if (known?.env !== env) known = { env, keys: readKeys(env) };
  return known.keys;
}

async function readKeys(env: Env): Promise<Keys> {
  const secrets = Object.entries(env).filter((entry): entry is [string, string] => typeof entry[1] === "string");
  const api = secrets.filter(([name, value]) => API_KEY.test(name) && value !== "");
  const token = secrets.filter(([name, value]) => TOKEN_KEY.test(name) && value !== "");
  return {
    any: api.length + token.length > 0,
    api: await Promise.all(api.map(async ([name, value]) => [keyName(name), await digest(value)] as const)),
    token: new Map(
      await Promise.all(token.map(async ([name, value]) => [kidOf(name), await tokenKey(name, value)] as const)),
    ),
  };
}

/** `API_KEY_CI` is `key:ci`, `API_KEY` `key`. */
const keyName = (name: string) => named("key", (API_KEY.exec(name)?.[1] ?? "").toLowerCase());

/** `TOKEN_KEY_2027` is the key with the id `2027`, `TOKEN_KEY` that of tokens without one. */
const kidOf = (name: string) => (TOKEN_KEY.exec(name)?.[1] ?? "").toLowerCase();

const named = (kind: string, name: string) => (name === "" ? kind : `${kind}:${name}`);

/** What a key looks like, whole or in part, in PEM, JWK, or as the base64 of DER: it is no secret, so it must not sign. */
const KEY_LIKE = /-BEGIN |"kty"|^[[{"]|^MC[A-Za-z0-9]wBQYD/;
/** The least for HS256 (RFC 7518, 3.2). */
const SECRET_BYTES = 32;

/** A public key for EdDSA, as JWK or PEM, or a secret for HS256. So a key has one algorithm, whatever a token says. */
async function tokenKey(name: string, given: string): Promise<TokenKey> {
  const text = given.trim();
  if (KEY_LIKE.test(text)) return { name, key: await publicKey(text).catch(() => undefined), algorithm: "EdDSA" };
  return { name, key: await secretKey(text), algorithm: "HS256" };
}

async function secretKey(text: string): Promise<CryptoKey | undefined> {
  const secret = encoder.encode(text);
  if (secret.byteLength < SECRET_BYTES) return undefined;
  return crypto.subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]);
}

async function publicKey(text: string): Promise<CryptoKey | undefined> {
  const key = text.startsWith("{") ? await importJWK(JSON.parse(text), "EdDSA") : await importSPKI(text, "EdDSA");
  return key instanceof CryptoKey && key.type === "public" ? key : undefined;
}

const digest = (text: string) => crypto.subtle.digest("SHA-256", encoder.encode(text));
const hexDigest = async (text: string) => new Uint8Array(await digest(text)).toHex();

/** The name of the key with that digest. Compares with every key, so that the time it takes tells nothing of any. */
function apiKey(given: ArrayBuffer, { api }: Keys): string | undefined {
  let found: string | undefined;
  for (const [name, key] of api) if (crypto.subtle.timingSafeEqual(given, key)) found = name;
  return found;
}

// Room tokens.

/** Tokens that were verified lately, and until when they hold, in Unix seconds: a signature costs more than all of the edge. */
const verified = new Map<string, { grant: Grant; expires: number; keys: Keys }>();
const VERIFIED_MAX = 1000;

async function grantOf(token: string, keys: Keys): Promise<Grant> {
  if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return refusal("invalid"); // what reads it is lenient
  const seen = verified.get(token);
  if (seen?.keys === keys) return seen.expires > Date.now() / 1000 ? seen.grant : refusal("expired");
  try {
    const find = (header: JWTHeaderParameters) => keyFor(header, keys);
    const { payload, protectedHeader } = await jwtVerify(token, find, { requiredClaims: ["exp"] });
    const word = wordOf(payload);
    if (!word) return refusal("invalid");
    const name = named("token", protectedHeader.kid?.toLowerCase() ?? "");
    const counted = await hexDigest(token.slice(0, token.lastIndexOf("."))); // a signature can be written in several ways
    const grant = { word, name: name + told("sub", payload) + told("jti", payload), counted };
    if (verified.size >= VERIFIED_MAX) verified.delete(verified.keys().next().value ?? "");
    verified.set(token, { grant, expires: Number(payload.exp), keys });
    return grant;
  } catch (error) {
    if (error instanceof UnreadableKey) return refusal(`unreadable ${error.message}`);
    return refusal(error instanceof errors.JWTExpired ? "expired" : "invalid");
  }
}

/** The key that a token names; throws where there is none, or its algorithm is another, or it cannot be read. */
function keyFor({ kid = "", alg }: JWTHeaderParameters, keys: Keys): CryptoKey {
  const found = keys.token.get(kid.toLowerCase());
  if (found?.algorithm !== alg) throw new errors.JOSEAlgNotAllowed("no such key with this algorithm");
  if (!found.key) throw new UnreadableKey(found.name);
  return found.key;
}

/** A token's key that cannot be used. @property message its secret's name */
class UnreadableKey extends Error {}

/** `token <scopes> <room>`. What scopes there are, the core knows: whatever they are, they stay what they are in its line. */
function wordOf({ room, scope }: Record<string, unknown>): string | undefined {
  const scopes = typeof scope === "string" ? scope.split(" ") : scope;
  if (typeof room !== "string" || room === "" || !ROOM.test(room) || !Array.isArray(scopes)) return undefined;
  return `token ${scopes.map((each) => encoded(`${each}`)).join(",")} ${room}`;
}

/** A claim as a part of a caller's name: it stays in its place, whatever it is, and goes into a header. */
function told(claim: "sub" | "jti", payload: Record<string, unknown>): string {
  const value = payload[claim];
  return typeof value === "string" ? `;${claim}=${encoded(value.slice(0, NAME_LENGTH))}` : "";
}

const encoded = (text: string) => encodeURIComponent(text.toWellFormed());

/** Signs a token with the newest key that signs: of several the last by name. */
export async function signToken(env: Env, room: string, scopes: string, lifetime: number): Promise<Outcome> {
  const { token } = await keysOf(env);
  const [kid, signing] = [...token].sort().findLast(([, { algorithm, key }]) => key && algorithm === "HS256") ?? [];
  if (kid === undefined || !signing?.key) return { name: "no_token_key" };
  const expires = Math.floor((Date.now() + lifetime) / 1000);
  const credential = await new SignJWT({ room, scope: scopes.split(",") })
    .setProtectedHeader({ alg: signing.algorithm, ...(kid && { kid }) })
    .setExpirationTime(expires)
    .sign(signing.key);
  return { name: "token", fields: writeFields(["credential", credential], ["expires_ms", expires * 1000]) };
}

// Tickets.

/** `ticket.<room>.<random>`: the room's object knows what it is good for, once. */
const TICKET = "ticket.";

async function redeem(ticket: string, env: Env): Promise<Grant> {
  const [, room, secret] =
    /^ticket\.([A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?)\.([0-9a-f]{32})$/.exec(ticket) ?? [];
  if (room === undefined || secret === undefined) return refusal("invalid");
  const grant = await env.SANDBOX.getByName(sandboxOf(room)).redeem(secret);
  if (!grant) return refusal("expired");
  return { word: `token ${grant.scopes} ${room}`, name: `${grant.maker};ticket`, counted: await hexDigest(ticket) };
}
