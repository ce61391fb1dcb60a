// How long a key takes from a client to the terminal of a sandbox and back, through the whole chain. While scripts/dev runs:
//   npm run bench:echo -- [http://localhost:8787]

const origin = process.argv[2] ?? "http://localhost:8787";
const ROUNDS = 1000;
const room = `${origin}/api/rooms/bench-echo`;

const started = await fetch(`${room}/sandbox/exec`, {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ cmd: "stty raw echo; echo ready; exec cat >/dev/null", pty: {} }),
});
const { result } = await started.json();
const socket = new WebSocket(`${room.replace("http", "ws")}/sandbox/executions/${result.id}/attach`);
socket.binaryType = "arraybuffer";
let heard = () => {};
let screen = "";
socket.addEventListener("message", ({ data }) => {
  if (typeof data === "string") return;
  screen += Buffer.from(data).subarray(1);
  heard();
});
const until = async (text) => {
  while (!screen.includes(text)) await new Promise((resolve) => (heard = resolve));
  screen = "";
};

await until("ready\n");
const times = [];
for (let i = 0; i < ROUNDS; i++) {
  const began = performance.now();
  socket.send(new Uint8Array([0, 0x78]));
  await until("x");
  times.push(performance.now() - began);
}
times.sort((a, b) => a - b);
const quantile = (share) => `${(times[Math.floor(share * (ROUNDS - 1))] ?? 0).toFixed(2)} ms`;
console.log(`keystroke echo end to end: p50 ${quantile(0.5)}, p99 ${quantile(0.99)}`);
await fetch(room, { method: "DELETE" });
process.exit(0);
