import type { Room } from "../../sdk/index.ts";
import { byId } from "./dom.ts";
import { Editor } from "./editor.ts";
import { FileTree } from "./files.ts";
import { reason } from "./format.ts";
import { History } from "./history.ts";
import { listenForKeys } from "./keys.ts";
import { notify } from "./notices.ts";
import { slowdown } from "./pace.ts";
import { listenForTabs, type Panel, show } from "./panels.ts";
import { People } from "./people.ts";
import { Ports } from "./ports.ts";
import { Run } from "./run.ts";
import { openRoom, roomId, takeToken } from "./session.ts";
import type { SharedTerminal } from "./terminal.ts";

document.title = `${roomId} – Roombox`;
byId("room-name").textContent = roomId;
takeToken();
start(openRoom());

async function start(room: Room): Promise<void> {
  const drawing = import("./terminal.ts"); // the largest part of the page: the rest is to be seen before it is there
  listenForTabs();
  show("terminal");
  try {
    await room.info(); // whether the reader may come in
  } catch (error) {
    notify(`The room cannot be opened: ${reason(error)}`);
    return;
  }
  let terminal: SharedTerminal | undefined;
  const people = new People(room, (present) => {
    terminal?.follow(present);
    for (const each of [tree, history]) each.slowDown(slowdown(present?.people.length ?? 1));
  });
  const tree = new FileTree(room, new Editor(room));
  const run = new Run(room, (change) => {
    history.look();
    if (change === "ended") tree.refresh();
  });
  const history = new History(room, {
    open: (execution) => run.open(execution),
    looked: (executions) => terminal?.noticed(executions),
  });
  const ports = new Ports(room, () => history.look());
  const { SharedTerminal } = await drawing;
  terminal = new SharedTerminal(room, {
    say: (size) => people.say(size),
    wrote: () => tree.refreshSoon(),
    attached: () => {
      people.comeBack(); // a room that was deleted may be there again
      history.look();
    },
  });
  const panels: Record<Panel, { focus(): void }> = { terminal, run, files: tree, ports };
  listenForKeys((panel) => panels[panel].focus());
  people.join();
  terminal.run();
  tree.refresh();
}
