const ESC = "\x1b";
const BEL = "\x07";
/** CAN and SUB end a sequence or a string, as nothing. */
const CANCELS = "\x18\x1a";

/**
 * Makes plain text of what a command writes for a terminal, piece by piece, wherever it is cut: control sequences (ECMA-48: of
 * CSI, and strings as those of OSC and DCS) are taken out, a lone carriage return begins a line.
 */
export class PlainText {
  #state: "text" | "escape" | "sequence" | "string" | "string escape" = "text";
  #afterCr = false;

  push(piece: string): string {
    let text = "";
    for (const char of piece) text += this.#char(char);
    return text;
  }

  #char(char: string): string {
    if (this.#state !== "text" && CANCELS.includes(char)) {
      this.#state = "text";
      return "";
    }
    switch (this.#state) {
      case "text":
        return this.#text(char);
      case "escape":
        if (char === "[") this.#state = "sequence";
        else if ("]P^_X".includes(char)) this.#state = "string";
        else if (char !== ESC && (char < " " || char > "/")) this.#state = "text"; // else it goes on, or begins anew
        return "";
      case "sequence":
        if (char === ESC) this.#state = "escape";
        else if (char >= "@" && char <= "~") this.#state = "text";
        return "";
      case "string":
        if (char === BEL) this.#state = "text";
        else if (char === ESC) this.#state = "string escape";
        return "";
      case "string escape":
        if (char !== "\\") {
          this.#state = "escape"; // of a sequence that ends the string, which nothing else has
          return this.#char(char);
        }
        this.#state = "text";
        return "";
    }
  }

  #text(char: string): string {
    const broken = this.#afterCr && char !== "\n" ? "\n" : "";
    this.#afterCr = char === "\r";
    if (this.#afterCr) return broken;
    if (char === ESC) this.#state = "escape";
    else if (char >= " " || char === "\n" || char === "\t") return broken + char;
    return broken;
  }
}
