import { type FileEntry, type FilePath, type Room, RoomboxError } from "../../sdk/index.ts";
import { askText, askWhether } from "./asking.ts";
import { byId, make } from "./dom.ts";
import type { Editor } from "./editor.ts";
import { bytes, reason } from "./format.ts";
import { attempt } from "./notices.ts";
import { keyOf, pathIn, shown } from "./paths.ts";
import { download, upload } from "./transfers.ts";

const SOON_MS = 3_000;

/** A line of the tree. */
interface Node {
  path: FilePath;
  type: FileEntry["type"];
  level: number;
  item: HTMLElement;
  /** Of a directory, once it was opened. */
  group: HTMLElement | undefined;
}

/** What is read in one go. */
interface Reading {
  /** The directories to read. */
  open: Set<string>;
  /** What they have, in order. */
  told: string[];
}

/** The files of the room as a tree whose directories are read as they are opened. Owns what is selected. */
export class FileTree {
  readonly #room: Room;
  readonly #editor: Editor;
  readonly #tree = byId("tree");
  readonly #top = byId<HTMLInputElement>("folder");
  readonly #nodes = new WeakMap<Element, Node>();
  #selected: Node | undefined;
  /** What the tree shows, of all that was read last, and of which folder. */
  #told = "";
  #shownTop = "";
  #refreshing = 0;
  /** The reader has no right to it, so it is not tried again unasked. */
  #isRefused = false;
  #slowdown = 1;
  /** Counts what is read: the last one counts. */
  #turn = 0;

  constructor(room: Room, editor: Editor) {
    this.#room = room;
    this.#editor = editor;
    byId("folder-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.refresh();
    });
    const on = (id: string, what: string, work: () => Promise<unknown>) =>
      byId(id).addEventListener("click", () => attempt(what, work));
    on("new-file", "No file was made", () => this.#newFile());
    on("new-folder", "No folder was made", () => this.#newFolder());
    on("refresh", "Not read", () => this.refresh());
    on("delete", "Not deleted", () => this.#delete());
    on("download", "Not downloaded", async () => this.#selected && download(this.#selected.path));
    const picked = byId<HTMLInputElement>("upload-files");
    byId("upload").addEventListener("click", () => picked.click());
    picked.addEventListener("change", () => {
      this.#upload([...(picked.files ?? [])], this.#directory());
      picked.value = "";
    });
    this.#tree.addEventListener("click", ({ target }) => this.#clicked(target));
    this.#tree.addEventListener("keydown", (event) => this.#key(event));
    this.#listenForDrops(byId("files"));
  }

  focus(): void {
    this.#tree.querySelector<HTMLElement>('[tabindex="0"]')?.focus();
  }

  /** Commands may have changed files: they are read anew after a while, once for all that happens meanwhile. */
  refreshSoon(): void {
    this.#refreshing ||= window.setTimeout(() => {
      this.#refreshing = 0;
      if (!this.#isRefused && document.visibilityState === "visible") this.refresh();
    }, SOON_MS * this.#slowdown);
  }

  slowDown(by: number): void {
    this.#slowdown = by;
  }

  /** Reads all anew that is open. */
  async refresh(): Promise<void> {
    const open = new Set([...this.#tree.querySelectorAll('[aria-expanded="true"]')].map((item) => this.#keyOf(item)));
    const top = this.#directoryOf(this.#top.value);
    const fault = byId("files-fault");
    const turn = ++this.#turn;
    const told: string[] = [];
    const group = make("ul");
    try {
      await this.#fill(group, top, 1, { open, told });
      if (turn !== this.#turn) return;
      fault.textContent = group.childElementCount === 0 ? "The folder is empty." : "";
      this.#isRefused = false;
    } catch (error) {
      if (turn !== this.#turn) return;
      fault.textContent = reason(error);
      this.#isRefused = error instanceof RoomboxError && error.code === "forbidden";
      if (this.#shownTop === top && isPassing(error)) return; // what is there may be so still
    }
    this.#shownTop = top;
    if (`${told}` !== this.#told) this.#put(group, `${told}`);
  }

  /** What is there may have the focus, or the pointer on it: so it is replaced only by what is another. */
  #put(group: HTMLElement, told: string): void {
    this.#told = told;
    const hadFocus = this.#tree.contains(document.activeElement);
    this.#tree.replaceChildren(...group.childNodes);
    const selected = this.#selected && keyOf(this.#selected.path);
    const items = [...this.#tree.querySelectorAll("[role=treeitem]")];
    const again = items.find((item) => this.#keyOf(item) === selected);
    this.#select(again && this.#nodes.get(again));
    if (hadFocus) this.focus();
  }

  async #fill(group: HTMLElement, directory: FilePath, level: number, reading: Reading): Promise<void> {
    const entries = await this.#room.files.list(directory);
    reading.told.push(keyOf(directory), JSON.stringify(entries.map(({ modifiedAt, ...seen }) => seen)));
    const isFolder = ({ type }: FileEntry) => (type === "directory" ? 0 : 1);
    entries.sort((a, b) => isFolder(a) - isFolder(b)); // they come by name
    const nodes = entries.map((entry) => this.#node(pathIn(directory, entry), entry, level));
    group.replaceChildren(...nodes.map(({ item }) => item));
    for (const node of nodes) if (reading.open.has(keyOf(node.path))) await this.#expand(node, reading);
  }

  #node(path: FilePath, { name, type, size }: FileEntry, level: number): Node {
    const isFolder = type === "directory";
    const label = make(
      "span",
      { class: `line ${type}` },
      make("bdi", { class: "name" }, name),
      type === "file" && make("span", { class: "size" }, bytes(size)),
    );
    const item = make(
      "li",
      {
        role: "treeitem",
        tabindex: "-1",
        "aria-level": `${level}`,
        "aria-selected": "false",
        "aria-label": isFolder ? `${name}, folder` : name,
        ...(isFolder && { "aria-expanded": "false" }),
      },
      label,
    );
    const node: Node = { path, type, level, item, group: undefined };
    this.#nodes.set(item, node);
    return node;
  }

  async #expand(node: Node, reading: Reading = { open: new Set(), told: [] }): Promise<void> {
    node.group ??= make("ul", { role: "group" });
    node.item.append(node.group);
    node.item.setAttribute("aria-expanded", "true");
    node.item.setAttribute("aria-busy", "true");
    try {
      await this.#fill(node.group, node.path, node.level + 1, reading);
    } finally {
      node.item.removeAttribute("aria-busy");
    }
  }

  #collapse(node: Node): void {
    node.group?.remove();
    node.item.setAttribute("aria-expanded", "false");
  }

  #toggle(node: Node): Promise<void> {
    this.#told = "";
    this.#turn++; // what is being read is of a tree with other folders open
    if (node.item.getAttribute("aria-expanded") === "false") {
      return attempt(`${shown(node.path)} cannot be read`, () => this.#expand(node));
    }
    this.#collapse(node);
    return Promise.resolve();
  }

  #activate(node: Node): void {
    if (node.type === "directory") this.#toggle(node);
    else this.#editor.open(node.path);
  }

  #clicked(target: EventTarget | null): void {
    const node = this.#nodeAt(target);
    if (!node) return;
    this.#select(node);
    node.item.focus();
    this.#activate(node);
  }

  /** As the pattern of trees has it (WAI-ARIA Authoring Practices). */
  #key(event: KeyboardEvent): void {
    const node = this.#nodeAt(event.target);
    if (!node || event.altKey || event.ctrlKey || event.metaKey) return;
    const items = [...this.#tree.querySelectorAll<HTMLElement>("[role=treeitem]")];
    const at = items.indexOf(node.item);
    const isOpen = node.item.getAttribute("aria-expanded");
    const act: Record<string, () => unknown> = {
      ArrowDown: () => this.#goTo(items[at + 1]),
      ArrowUp: () => this.#goTo(items[at - 1]),
      Home: () => this.#goTo(items[0]),
      End: () => this.#goTo(items.at(-1)),
      ArrowRight: () => (isOpen === "false" ? this.#toggle(node) : isOpen && this.#goTo(items[at + 1])),
      ArrowLeft: () =>
        isOpen === "true" ? this.#toggle(node) : this.#goTo(node.item.parentElement?.closest("[role=treeitem]")),
      Enter: () => this.#activate(node),
      " ": () => this.#activate(node),
      Delete: () => attempt("Not deleted", () => this.#delete()),
    };
    const action = act[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  #goTo(item: Element | null | undefined): void {
    const node = item && this.#nodes.get(item);
    if (!node) return;
    this.#select(node);
    node.item.focus();
  }

  #select(node: Node | undefined): void {
    this.#selected?.item.setAttribute("aria-selected", "false");
    for (const item of this.#tree.querySelectorAll('[tabindex="0"]')) item.setAttribute("tabindex", "-1");
    this.#selected = node;
    node?.item.setAttribute("aria-selected", "true");
    (node?.item ?? this.#tree.querySelector("[role=treeitem]"))?.setAttribute("tabindex", "0");
    byId<HTMLButtonElement>("delete").disabled = !node;
    byId<HTMLButtonElement>("download").disabled = node?.type !== "file" && node?.type !== "symlink";
  }

  #nodeAt(target: EventTarget | null): Node | undefined {
    const item = target instanceof Element ? target.closest("[role=treeitem]") : null;
    return item ? this.#nodes.get(item) : undefined;
  }

  #keyOf(item: Element): string {
    return keyOf(this.#nodes.get(item)?.path ?? "");
  }

  #directoryOf(text: string): string {
    const path = text.trim().replace(/\/+$/, "") || "/";
    return path.startsWith("/") ? path : `/workspace/${path}`;
  }

  /** Where something new goes: the folder that is selected, or the one of what is. */
  #directory(node = this.#selected): FilePath {
    if (node?.type === "directory") return node.path;
    const above = node?.item.parentElement?.closest("[role=treeitem]");
    return (above && this.#nodes.get(above)?.path) || this.#directoryOf(this.#top.value);
  }

  async #newFile(): Promise<void> {
    const directory = this.#directory();
    const name = await askText(`Name of the new file in ${shown(directory)}`);
    if (name === undefined) return;
    const path = pathIn(directory, { name });
    await this.#room.files.write(path, "", { ifAbsent: true });
    await this.refresh();
    await this.#editor.open(path);
  }

  async #newFolder(): Promise<void> {
    const directory = this.#directory();
    const name = await askText(`Name of the new folder in ${shown(directory)}`);
    if (name === undefined) return;
    await this.#room.files.mkdir(pathIn(directory, { name }));
    await this.refresh();
  }

  async #delete(): Promise<void> {
    const node = this.#selected;
    if (!node) return;
    const isFolder = node.type === "directory";
    const what = isFolder ? `the folder ${shown(node.path)} with all that is in it` : shown(node.path);
    if (!(await askWhether(`Delete ${what}?`, "Delete"))) return;
    await this.#room.files.remove(node.path, { recursive: isFolder });
    this.#editor.removed(node.path);
    await this.refresh();
  }

  async #upload(files: File[], directory: FilePath): Promise<void> {
    for (const file of files) await upload(file, pathIn(directory, { name: file.name }));
    await this.refresh();
  }

  /** Files that are dropped on a folder go into it. */
  #listenForDrops(area: HTMLElement): void {
    const mark = (on: boolean) => area.classList.toggle("drop", on);
    area.addEventListener("dragover", (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      mark(true);
    });
    area.addEventListener("dragleave", ({ relatedTarget }) => {
      if (!area.contains(relatedTarget as Element | null)) mark(false);
    });
    area.addEventListener("drop", (event) => {
      event.preventDefault();
      mark(false);
      const target = this.#nodeAt(event.target);
      const directory = target ? this.#directory(target) : this.#directoryOf(this.#top.value);
      this.#upload([...(event.dataTransfer?.files ?? [])], directory);
    });
  }
}

/** Whether a failure says nothing of what was asked for: the line is down, or the room busy. */
const isPassing = (error: unknown) => error instanceof RoomboxError && [0, 429, 503].includes(error.status);
