import { Sandbox as RealSandbox } from "../../worker/index";
import { containerOf } from "./fake-container";

// The worker as it is, on a platform whose containers are fake ones.

export { default, Egress, Registry } from "../../worker/index";

export class Sandbox extends RealSandbox {
  constructor(ctx: DurableObjectState, env: Env) {
    Object.defineProperty(ctx, "container", { value: containerOf(ctx.id) });
    super(ctx, env);
  }
}
