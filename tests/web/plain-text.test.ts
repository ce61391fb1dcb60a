import { describe, expect, it } from "vitest";
import { PlainText } from "../../worker/web/plain-text";

const ESC = "\x1b";
const CASES: [given: string, shown: string][] = [
  ["plain, with é and 😀\n", "plain, with é and 😀\n"],
  [`a${ESC}[31mred${ESC}[0m.`, "ared."],
  [`${ESC}[38;2;1;2;3mx${ESC}[?25l${ESC}[2J${ESC}[Hy`, "xy"],
  [`${ESC}]0;title\x07a${ESC}]8;;http://x${ESC}\\b${ESC}]8;;${ESC}\\`, "ab"],
  [`${ESC}Pq#0${ESC}\\a${ESC}_app${ESC}\\b`, "ab"],
  [`${ESC}(Ba${ESC}=b${ESC}7c`, "abc"],
  [`${ESC}]0;never ended${ESC}[1mbold${ESC}[0m.`, "bold."],
  [`${ESC}P${ESC}${ESC}c1${ESC}]x\x182${ESC}[3\x1a3`, "123"],
  ["10%\r20%\r\ndone\r\n", "10%\n20%\ndone\n"],
  ["a\r\r\nb", "a\n\nb"],
  ["bell\x07, back\bspace, nul\0, tab\t.", "bell, backspace, nul, tab\t."],
  [`<b>&amp;</b>`, "<b>&amp;</b>"],
];

describe("a terminal's output as plain text", () => {
  it.each(CASES)("%j", (given, shown) => {
    expect(new PlainText().push(given)).toBe(shown);
  });

  it("is the same wherever it is cut", () => {
    const whole = CASES.map(([given]) => given).join("");
    const shown = new PlainText().push(whole);
    for (let cut = 0; cut <= whole.length; cut++) {
      const plain = new PlainText();
      expect(plain.push(whole.slice(0, cut)) + plain.push(whole.slice(cut))).toBe(shown);
    }
  });
});
