import { type Room, roombox } from "../../sdk/index.ts";
import { byId } from "./dom.ts";

type Fetch = typeof globalThis.fetch;

/** The room that the address names, as its last part. */
export const roomId = decodeURIComponent(location.pathname.split("/")[2] ?? "");

const TOKEN = `roombox-token:${roomId}`;

/**
 * A token in the address is for this tab, and for nobody's history: it moves to where only the tab has it. A link with another
 * one that is followed here, to the same room, changes what is behind `#` alone: with it the page begins anew.
 */
export function takeToken(): void {
  movedToken();
  window.addEventListener("hashchange", () => movedToken() && location.reload());
}

function movedToken(): boolean {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given === null) return false;
  sessionStorage.setItem(TOKEN, given);
  history.replaceState(null, "", location.pathname + location.search);
  return true;
}

const token = () => sessionStorage.getItem(TOKEN) ?? undefined;

/** Whether calls bring a credential: then a link cannot be one. */
export const hasToken = () => token() !== undefined;

/** The room, called by a `fetch` of one's own if that is given. A call without a good credential has the reader asked for one. */
export function openRoom(fetch: Fetch = (...call) => globalThis.fetch(...call)): Room {
  const asking: Fetch = async (...call) => {
    const response = await fetch(...call);
    if (response.status === 401) askForToken();
    return response;
  };
  return roombox({ url: location.origin, token: token(), fetch: asking }).room(roomId);
}

/** Asks once, for the whole page, which begins anew with what it is given. */
function askForToken(): void {
  const dialog = byId<HTMLDialogElement>("sign-in");
  if (dialog.open) return;
  byId("sign-in-why").hidden = !hasToken();
  dialog.addEventListener("cancel", (event) => event.preventDefault());
  byId<HTMLFormElement>("sign-in-form").addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem(TOKEN, byId<HTMLInputElement>("sign-in-token").value.trim());
    location.reload();
  });
  dialog.showModal();
}
