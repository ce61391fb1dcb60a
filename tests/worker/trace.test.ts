import { describe, expect, it } from "vitest";
import { passOn, traceOf, traceparent } from "../../worker/trace";

const ID = "0af7651916cd43dd8448eb211c80319c";
const PARENT = "b7ad6b7169203331";
const of = (header?: string) => traceOf(new Headers(header === undefined ? {} : { traceparent: header }));

describe("a trace", () => {
  it("is gone on with where the caller's is right", () => {
    expect(of(`00-${ID}-${PARENT}-01`)).toEqual({ id: ID, flags: "01", isContinued: true });
    expect(of(`00-${ID}-${PARENT}-00`)).toEqual({ id: ID, flags: "00", isContinued: true });
    expect(of(`00-${ID}-${PARENT}-ff`).flags).toBe("01"); // flags that nobody knows are not passed on
    expect(of(`cc-${ID}-${PARENT}-01`).id).toBe(ID); // a version to come, with what may be behind
    expect(of(`cc-${ID}-${PARENT}-01-what-comes`).id).toBe(ID);
  });

  it("is begun where there is none, or one that is wrong", () => {
    const zeros = (digits: number) => "0".repeat(digits);
    for (const header of [
      undefined,
      "",
      ID,
      `00-${ID}-${PARENT}`,
      `00-${ID}-${PARENT}-01-more`,
      `00-${ID}-${PARENT}-01-`,
      `00-${ID}-${PARENT}-1`,
      `ff-${ID}-${PARENT}-01`,
      `00-${zeros(32)}-${PARENT}-01`,
      `00-${ID}-${zeros(16)}-01`,
      `00-${ID.toUpperCase()}-${PARENT}-01`,
      `00-${ID}x-${PARENT}-01`,
      `00-${ID}-${PARENT}-01, 00-${ID}-${PARENT}-01`,
      `cc-${ID}-${PARENT}-01.what-comes`,
    ]) {
      const { id, flags, isContinued } = of(header);
      expect([isContinued, flags], header).toEqual([false, "01"]);
      expect(id, header).toMatch(/^[0-9a-f]{32}$/);
      expect(id, header).not.toBe(ID);
    }
    expect(of().id).not.toBe(of().id);
  });

  it("has a part of its own for each hop", () => {
    const trace = of(`00-${ID}-${PARENT}-00`);
    const [one, other] = [traceparent(trace), traceparent(trace)];
    expect(one).toMatch(new RegExp(`^00-${ID}-[0-9a-f]{16}-00$`));
    expect(one).not.toContain(PARENT);
    expect(one).not.toBe(other);
  });

  it("is not begun twice, nor is a part of one", () => {
    const traces = Array.from({ length: 1000 }, () => of());
    const parts = traces.map((trace) => traceparent(trace));
    for (const part of parts) expect(part).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    expect(new Set(traces.map(({ id }) => id)).size).toBe(traces.length);
    expect(new Set(parts.map((part) => part.split("-")[2])).size).toBe(parts.length);
  });

  it("leaves behind what other tracers say of one that it does not go on with", () => {
    for (const [header, state] of [
      [`00-${ID}-${PARENT}-01`, "a=b"],
      ["nonsense", null],
    ] as const) {
      const headers = new Headers({ traceparent: header, tracestate: "a=b" });
      passOn(headers, traceOf(headers));
      expect(headers.get("tracestate")).toBe(state);
      expect(traceOf(headers).isContinued).toBe(true);
    }
  });
});
