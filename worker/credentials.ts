import { errors, importJWK, importSPKI, type JWTHeaderParameters, jwtVerify, SignJWT } from "jose";
import { writeFields } from "./fields";
import { sandboxOf } from "./names";
import type { Outcome } from "./outcome";

/** What the core reads as Request::caller (wasm/edge.h), and the request without the credential: it is for nobody behind us. */
export interface Caller {
  word: string;
  /** Whose calls are counted together. */
  name: string;
  /** Headers that brought the credential. */
  spent: string[];
}

const encoder = new TextEncoder();

/** A WebSocket's client that cannot send headers offers two protocols: this one, which is answered, and its credential. */
export const PROTOCOL = "roombox";
export const PROTOCOL_HEADER = "sec-websocket-protocol";
const CREDENTIAL_PROTOCOL = "roombox.credential.";

/** Names of secrets: one of them alone, or several, each with a name of its own behind it, so that they can take turns. */
const API_KEY = /^API_KEY(_[A-Z0-9_]+)?$/;
const TOKEN_KEY = /^TOKEN_KEY(?:_([A-Z0-9_]+))?$/;

const SCOPE = /^(exec|attach|files|ports|read|delete)$/;
const ROOM = /^[A-Za-z0-9._-]{0,64}\*?$/;

/** Of a credential, at its end: of a token its signature's, which no other has. */
const NAME_LENGTH = 24;

/** Finds out whom a request is from. */
export async function callerOf(request: Request, env: Env): Promise<Caller> {
  if (env.AUTH_MODE === "open") return nobody("open");
  const keys = await keysOf(env);
  if (keys.api.length === 0 && keys.token.size === 0) return nobody("unconfigured");
  const found = credentialOf(request);
  if (!found) return nobody("missing");
  const { credential, spent } = found;
  return { word: await wordFor(credential, keys, env), name: credential.slice(-NAME_LENGTH), spent };
}

const nobody = (word: string): Caller => ({ word, name: "", spent: [] });

async function wordFor(credential: string, keys: Keys, env: Env): Promise<string> {
  if (await isApiKey(credential, keys)) return "key";
  if (credential.startsWith(TICKET)) return redeem(credential, env);
  return tokenWord(credential, keys);
}

/** The first of those that a request can bring it in. */
function credentialOf({ headers, url }: Request): { credential: string; spent: string[] } | undefined {
  const key = headers.get("x-api-key");
  if (key) return { credential: key, spent: ["x-api-key"] }; // Authorization may be for a server in the sandbox then
  const [, bearer] = /^Bearer +(\S+) *$/i.exec(headers.get("authorization") ?? "") ?? [];
  if (bearer) return { credential: bearer, spent: ["authorization"] };
  if (headers.get("upgrade")?.toLowerCase() !== "websocket") return undefined;
  const offered = (headers.get(PROTOCOL_HEADER) ?? "").split(/ *, */);
  const protocol = offered.find((each) => each.startsWith(CREDENTIAL_PROTOCOL));
  if (protocol) return { credential: protocol.slice(CREDENTIAL_PROTOCOL.length), spent: [PROTOCOL_HEADER] };
  const { pathname, searchParams } = new URL(url);
  const names = pathname.startsWith("/api/sandboxes/") ? ["ticket", "api_key", "token"] : ["ticket"];
  const credential = names.map((name) => searchParams.get(name)).find((value) => value !== null);
  return credential ? { credential, spent: [] } : undefined;
}

// API keys.

/** The keys of an environment, as they are compared and verified with. */
interface Keys {
  api: ArrayBuffer[];
  /** By `kid`. */
  token: Map<string, TokenKey>;
}
interface TokenKey {
  key: CryptoKey;
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
    api: await Promise.all(api.map(([, value]) => digest(value))),
    token: new Map(
      await Promise.all(token.map(async ([name, value]) => [kidOf(name), await tokenKey(value)] as const)),
    ),
  };
}

/** `TOKEN_KEY_2027` is the key with the id `2027`, `TOKEN_KEY` that of tokens without one. */
const kidOf = (name: string) => (TOKEN_KEY.exec(name)?.[1] ?? "").toLowerCase();

/** A public key for EdDSA, as JWK or PEM; anything else is a secret for HS256. So a key has one algorithm, whatever a token says. */
async function tokenKey(text: string): Promise<TokenKey> {
  if (text.startsWith("-----BEGIN")) return { key: await importSPKI(text, "EdDSA"), algorithm: "EdDSA" };
  if (text.startsWith("{")) {
    const key = await importJWK(JSON.parse(text), "EdDSA"); // one that is no public key verifies nothing
    return { key: key as CryptoKey, algorithm: "EdDSA" };
  }
  const hmac = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encoder.encode(text), hmac, false, ["sign", "verify"]);
  return { key, algorithm: "HS256" };
}

const digest = (text: string) => crypto.subtle.digest("SHA-256", encoder.encode(text));

/** Compares with every key, and digests, so that the time it takes tells nothing of any. */
async function isApiKey(credential: string, { api }: Keys): Promise<boolean> {
  const given = await digest(credential);
  let found = false;
  for (const key of api) found = crypto.subtle.timingSafeEqual(given, key) || found;
  return found;
}

// Room tokens.

/** Tokens that were verified lately, and until when they hold, in Unix seconds: a signature costs more than all of the edge. */
const verified = new Map<string, { word: string; expires: number; keys: Keys }>();
const VERIFIED_MAX = 1000;

async function tokenWord(token: string, keys: Keys): Promise<string> {
  const seen = verified.get(token);
  if (seen?.keys === keys) return seen.expires > Date.now() / 1000 ? seen.word : "expired";
  try {
    const { payload } = await jwtVerify(token, (header) => keyFor(header, keys), { requiredClaims: ["exp"] });
    const word = grantOf(payload);
    if (!word) return "invalid";
    if (verified.size >= VERIFIED_MAX) verified.delete(verified.keys().next().value ?? "");
    verified.set(token, { word, expires: Number(payload.exp), keys });
    return word;
  } catch (error) {
    return error instanceof errors.JWTExpired ? "expired" : "invalid";
  }
}

/** The key that a token names; throws where there is none, or its algorithm is another. */
function keyFor({ kid = "", alg }: JWTHeaderParameters, keys: Keys): CryptoKey {
  const found = keys.token.get(kid.toLowerCase());
  if (found?.algorithm !== alg) throw new errors.JOSEAlgNotAllowed("no such key with this algorithm");
  return found.key;
}

/** `token <scopes> <room>`, of claims that are right. */
function grantOf({ room, scope }: Record<string, unknown>): string | undefined {
  const scopes = typeof scope === "string" ? scope.split(" ") : scope;
  if (typeof room !== "string" || room === "" || !ROOM.test(room)) return undefined;
  if (!Array.isArray(scopes) || !scopes.every((each) => typeof each === "string" && SCOPE.test(each))) return undefined;
  return `token ${scopes.join(",")} ${room}`;
}

/** Signs a token with the newest key that signs: of several the last by name. */
export async function signToken(env: Env, room: string, scopes: string, lifetime: number): Promise<Outcome> {
  const { token } = await keysOf(env);
  const [kid, signing] = [...token].sort().findLast(([, { algorithm }]) => algorithm === "HS256") ?? [];
  if (kid === undefined || !signing) return { name: "no_token_key" };
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

async function redeem(ticket: string, env: Env): Promise<string> {
  const [, room, secret] = /^ticket\.([A-Za-z0-9._-]{1,64})\.([0-9a-f]{32})$/.exec(ticket) ?? [];
  if (room === undefined || secret === undefined) return "invalid";
  const scopes = await env.SANDBOX.getByName(sandboxOf(room)).redeem(secret);
  return scopes === undefined ? "expired" : `token ${scopes} ${room}`;
}
