import { byId } from "./dom.ts";

byId("open-form").addEventListener("submit", (event) => {
  event.preventDefault();
  location.assign(`/rooms/${encodeURIComponent(byId<HTMLInputElement>("room").value)}`);
});
