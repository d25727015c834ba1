// Reads a snapshot as a page in the browser does: the whole file in one buffer, an unpickler that builds plain objects.
// Prints the seconds it took and the events it found.
'use strict';
const fs = require('fs');

function unpickle(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const decoder = new TextDecoder();
  const stack = [];
  const marks = [];
  const memo = [];
  let at = 0;
  const text = (length) => {
    at += length;
    return decoder.decode(bytes.subarray(at - length, at));
  };
  for (;;) {
    const opcode = bytes[at++];
    switch (opcode) {
      case 0x80: at += 1; break; // PROTO
      case 0x95: at += 8; break; // FRAME
      case 0x2e: return stack.pop(); // STOP
      case 0x28: marks.push(stack.length); break; // MARK
      case 0x94: memo.push(stack[stack.length - 1]); break; // MEMOIZE
      case 0x68: stack.push(memo[bytes[at++]]); break; // BINGET
      case 0x6a: stack.push(memo[view.getUint32(at, true)]); at += 4; break; // LONG_BINGET
      case 0x4e: stack.push(null); break; // NONE
      case 0x88: stack.push(true); break; // NEWTRUE
      case 0x89: stack.push(false); break; // NEWFALSE
      case 0x4b: stack.push(bytes[at++]); break; // BININT1
      case 0x4d: stack.push(view.getUint16(at, true)); at += 2; break; // BININT2
      case 0x4a: stack.push(view.getInt32(at, true)); at += 4; break; // BININT
      case 0x8a: { // LONG1; addresses and times fit a double
        const length = bytes[at++];
        let number = 0;
        for (let i = length - 1; i >= 0; i--) number = number * 256 + bytes[at + i];
        at += length;
        stack.push(number);
        break;
      }
      case 0x47: stack.push(view.getFloat64(at, false)); at += 8; break; // BINFLOAT
      case 0x8c: { const length = bytes[at++]; stack.push(text(length)); break; } // SHORT_BINUNICODE
      case 0x58: { const length = view.getUint32(at, true); at += 4; stack.push(text(length)); break; } // BINUNICODE
      case 0x5d: stack.push([]); break; // EMPTY_LIST
      case 0x7d: stack.push({}); break; // EMPTY_DICT
      case 0x86: { const second = stack.pop(); stack.push([stack.pop(), second]); break; } // TUPLE2
      case 0x61: { const item = stack.pop(); stack[stack.length - 1].push(item); break; } // APPEND
      case 0x65: { // APPENDS
        const mark = marks.pop();
        const list = stack[mark - 1];
        for (let i = mark; i < stack.length; i++) list.push(stack[i]);
        stack.length = mark;
        break;
      }
      case 0x73: { // SETITEM
        const value = stack.pop();
        const key = stack.pop();
        stack[stack.length - 1][key] = value;
        break;
      }
      case 0x75: { // SETITEMS
        const mark = marks.pop();
        const dict = stack[mark - 1];
        for (let i = mark; i < stack.length; i += 2) dict[stack[i]] = stack[i + 1];
        stack.length = mark;
        break;
      }
      default: throw new Error(`opcode ${opcode} at byte ${at - 1}`);
    }
  }
}

const start = process.hrtime.bigint();
const snapshot = unpickle(fs.readFileSync(process.argv[2]));
const seconds = Number(process.hrtime.bigint() - start) / 1e9;
const events = snapshot.device_traces.reduce((sum, trace) => sum + trace.length, 0);
console.log(`${seconds} ${events}`);
process.stdin.resume(); // Stay, so that the parent can read our memory.
process.stdin.on('end', () => process.exit(snapshot ? 0 : 1));
