import worker from "../../../worker/index";

// The worker as it is. Its rooms are objects of the benchmark's instead: plain workerd has no containers.

export { Registry } from "../../../worker/registry";
export default worker;
