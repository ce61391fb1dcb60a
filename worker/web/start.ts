const form = document.querySelector<HTMLFormElement>("#open");

form?.addEventListener("submit", (event) => {
  event.preventDefault();
  location.assign(`/rooms/${encodeURIComponent(String(new FormData(form).get("room")))}`);
});
