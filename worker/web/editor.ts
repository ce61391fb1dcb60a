import { type FilePath, type Room, RoomboxError } from "../../sdk/index.ts";
import { askWhether } from "./asking.ts";
import { byId } from "./dom.ts";
import { bytes, reason } from "./format.ts";
import { keyOf, shown } from "./paths.ts";

/** A larger file is one to download: text areas become slow with it. */
const MAX_TEXT_BYTES = 1 << 20;

interface Open {
  path: FilePath;
  /** What is saved replaces this only. */
  etag: string | undefined;
  /** As it is in the file; undefined where it is no text to edit. */
  text: string | undefined;
}

/** Shows one file, and saves what is made of it. */
export class Editor {
  readonly #room: Room;
  readonly #text = byId<HTMLTextAreaElement>("editor-text");
  readonly #state = byId("editor-state");
  #open: Open | undefined;

  constructor(room: Room) {
    this.#room = room;
    byId("save").addEventListener("click", () => this.#save());
    byId("overwrite").addEventListener("click", () => this.#save("whatever is there"));
    byId("reload").addEventListener("click", () => this.#open && this.#load(this.#open.path));
    byId("close-editor").addEventListener("click", () => this.close());
    this.#text.addEventListener("input", () => this.#show());
    byId("editor").addEventListener("keydown", (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.key !== "s") return;
      event.preventDefault();
      this.#save();
    });
    window.addEventListener("beforeunload", (event) => {
      if (this.#isChanged) event.preventDefault();
    });
  }

  async open(path: FilePath): Promise<void> {
    const isOpen = this.#open && keyOf(this.#open.path) === keyOf(path);
    if (!isOpen && (await this.#mayLeave())) await this.#load(path);
    this.#text.focus();
  }

  async close(): Promise<void> {
    if (!(await this.#mayLeave())) return;
    this.#open = undefined;
    byId("editor").hidden = true;
  }

  /** A file or a directory is no more. */
  removed(path: FilePath): void {
    const gone = shown(path);
    const here = this.#open && shown(this.#open.path);
    if (here === undefined || (here !== gone && !here.startsWith(`${gone}/`))) return;
    this.#open = undefined;
    byId("editor").hidden = true;
  }

  get #isChanged(): boolean {
    return this.#open?.text !== undefined && this.#open.text !== this.#text.value;
  }

  async #mayLeave(): Promise<boolean> {
    if (!this.#isChanged) return true;
    return askWhether(`Leave ${shown(this.#open?.path ?? "")} without saving it?`, "Leave");
  }

  async #load(path: FilePath): Promise<void> {
    byId("editor").hidden = false;
    byId("editor-path").textContent = shown(path);
    this.#open = { path, etag: undefined, text: undefined };
    this.#text.value = "";
    this.#tell("Reading");
    this.#show();
    const loading = this.#open;
    try {
      // The ETag first: what changes in between is a conflict then, and not lost.
      const { size = 0, etag } = await this.#room.files.stat(path);
      if (size > MAX_TEXT_BYTES) return this.#tell(`${bytes(size)}: too large to show, download it.`);
      const text = textOf(await this.#room.files.read(path));
      if (loading !== this.#open) return;
      if (text === undefined) return this.#tell(`${bytes(size)} that are no text: download it.`);
      // A text area makes one kind of line end of all.
      this.#text.value = text;
      this.#open = { path, etag, text: this.#text.value };
      this.#tell(text.includes("\r") ? `${bytes(size)}. Saving it makes all line ends LF.` : bytes(size));
    } catch (error) {
      if (loading === this.#open) this.#tell(reason(error));
    }
    this.#show();
  }

  async #save(over?: "whatever is there"): Promise<void> {
    const open = this.#open;
    if (open?.text === undefined) return;
    const text = this.#text.value;
    this.#tell("Saving");
    try {
      const ifMatch = over ? undefined : open.etag;
      const { etag, size } = await this.#room.files.write(open.path, text, { ifMatch });
      if (open !== this.#open) return;
      this.#open = { ...open, etag, text };
      this.#tell(`Saved, ${bytes(size)}`);
      this.#show();
    } catch (error) {
      if (open !== this.#open) return;
      const isConflict = error instanceof RoomboxError && error.code === "precondition_failed";
      this.#tell(isConflict ? "Not saved: the file has been changed or removed since you opened it." : reason(error));
      this.#show(isConflict);
    }
  }

  #show(isConflict = false): void {
    this.#text.hidden = this.#open?.text === undefined;
    byId<HTMLButtonElement>("save").disabled = !this.#isChanged;
    byId("editor-path").classList.toggle("changed", this.#isChanged);
    for (const id of ["overwrite", "reload"]) byId(id).hidden = !isConflict;
  }

  #tell(text: string): void {
    this.#state.textContent = text;
  }
}

/** The text of a file; undefined where it is none. */
function textOf(content: Uint8Array): string | undefined {
  if (content.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    return undefined;
  }
}
