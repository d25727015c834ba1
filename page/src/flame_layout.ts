/** Sums bytes up the tree of stacks and places a box for every call. */

import { Frame, Stacks } from "./data";
import { History } from "./history";

/** A call and the bytes held below it. */
export interface FlameBox {
  node: number;
  /** Missing for everything together, and for what was held without a stack. */
  frame: Frame | undefined;
  depth: number;
  from: number;
  bytes: number;
}

/** Bytes below each node of the stack tree, for the blocks alive after an event. */
export function bytesOfNodes(history: History, stacks: Stacks, event: number): Float64Array {
  const { blocks } = history.device;
  const bytes = new Float64Array(stacks.nodeParent.length);
  for (const block of history.liveBlocks(event)) bytes[stacks.leaf[blocks.stack[block]]] += blocks.heldBytes[block];
  // Parents come before children, so backwards every node is complete before it is added to its parent.
  for (let node = bytes.length - 1; node > 0; node--) bytes[stacks.nodeParent[node]] += bytes[node];
  return bytes;
}

/** Places the boxes of a node's ancestors and descendants, the widest first, leaving out those below `bytesMin`. */
export function layOutFlame(stacks: Stacks, bytes: Float64Array, root: number, bytesMin: number): FlameBox[] {
  const children = new Map<number, number[]>();
  for (let node = 1; node < bytes.length; node++) {
    if (bytes[node] < bytesMin || bytes[node] === 0) continue;
    const siblings = children.get(stacks.nodeParent[node]);
    if (siblings) siblings.push(node);
    else children.set(stacks.nodeParent[node], [node]);
  }
  const frameOf = (node: number) => (node === 0 ? undefined : stacks.frames[stacks.nodeFrame[node]]);
  const boxes: FlameBox[] = [];
  const ancestors: number[] = [];
  for (let node = root; node !== 0; ) ancestors.unshift((node = stacks.nodeParent[node]));
  ancestors.forEach((node, depth) => boxes.push({ node, frame: frameOf(node), depth, from: 0, bytes: bytes[root] }));
  // What has no stack ends at the root itself: without a box of its own it would look like a gap.
  const addStackless = () => {
    const stackless = bytes.reduce((rest, own, node) => (node > 0 && stacks.nodeParent[node] === 0 ? rest - own : rest), bytes[0]);
    if (stackless > 0 && stackless >= bytesMin) boxes.push({ node: 0, frame: undefined, depth: 1, from: bytes[0] - stackless, bytes: stackless });
  };
  const pending = [{ node: root, depth: ancestors.length, from: 0 }];
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { node, depth, from } = next;
    boxes.push({ node, frame: frameOf(node), depth, from, bytes: bytes[node] });
    if (node === 0) addStackless();
    let childFrom = from;
    for (const child of (children.get(node) ?? []).sort((a, b) => bytes[b] - bytes[a])) {
      pending.push({ node: child, depth: depth + 1, from: childFrom });
      childFrom += bytes[child];
    }
  }
  return boxes;
}
