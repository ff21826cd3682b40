// What every rank of a group holds after each step: the schedule is stepped through as hopcast does it, with
// the number of contributions in place of data.

const MOST_CELLS = 2 ** 22;
const MOST_MOVES = 3e6;

// The matrix of a group, or null where the page does not hold all its sends or it would be too large.
H.replay = (side, group) => {
  if (!side.replays.has(group)) side.replays.set(group, build(side, group));
  return side.replays.get(group);
};

function build(side, group) {
  const { plan } = side;
  const { sends, chunks, ranks } = plan;
  if (!sends || !plan.origin || sends.scope === 'chunks' || (sends.scope === 'first' && group !== 0)) return null;
  const rows = Array.from({ length: plan.steps }, (_, s) => H.rowsOf(side, s, group));
  const number = new Map();
  const holders = [];
  const add = (v) => {
    if (!number.has(v)) number.set(v, holders.push(v) - 1);
  };
  for (let r = 0; r < ranks; r++) add(side.vertexOf(group, r));
  const extra = new Set(rows.flatMap((list) => list.flatMap((r) => [sends.src[r], sends.dst[r]])));
  [...extra].filter((v) => !number.has(v)).sort((a, b) => a - b).forEach(add);
  const size = holders.length * chunks;
  let moves = 0;
  for (const list of rows) for (const r of list) moves += sends.count[r];
  if (size > MOST_CELLS || moves > MOST_MOVES) return null;
  const replay = { side, rows, number, holders, chunks, ranks, size, step: -1, full: plan.reduces ? ranks : 1 };
  replay.count = start(replay);
  replay.fresh = new Uint8Array(size);
  replay.goal = named(replay, plan.goal);
  replay.liveAt = -2;
  return replay;
}

// The cells that a column of the collective names: -1 is every rank.
function named({ holders, chunks, ranks }, column) {
  const cells = new Uint8Array(holders.length * chunks);
  for (let c = 0; c < chunks; c++) {
    if (column[c] >= 0) cells[column[c] * chunks + c] = 1;
    else for (let r = 0; r < ranks; r++) cells[r * chunks + c] = 1;
  }
  return cells;
}

const start = (replay) => Int32Array.from(named(replay, replay.side.plan.origin));

// Each cell that a step moves, one by one.
function eachCell(replay, step, act) {
  const { src, dst, chunk, count, op } = replay.side.plan.sends;
  const { number, chunks } = replay;
  for (const r of replay.rows[step]) {
    const from = number.get(src[r]) * chunks;
    const to = number.get(dst[r]) * chunks;
    for (let k = 0; k < count[r]; k++) {
      const c = (chunk[r] + k) % chunks;
      act(from + c, to + c, op[r]);
    }
  }
}

function advance(replay) {
  replay.step += 1;
  const moved = [];
  eachCell(replay, replay.step, (from) => moved.push(replay.count[from])); // all reads come before writes
  replay.fresh.fill(0);
  let i = 0;
  eachCell(replay, replay.step, (from, to, adds) => {
    replay.count[to] = adds ? replay.count[to] + moved[i] : moved[i];
    replay.fresh[to] = 1;
    i += 1;
  });
}

// Cells that are still wanted after a step: sent later, or part of the result. Found from the last step back.
function findLive(replay, step) {
  const wanted = replay.goal.slice();
  for (let s = replay.rows.length - 1; s > step; s--) {
    const use = [];
    const gone = [];
    eachCell(replay, s, (from, to, adds) => {
      if (wanted[to]) use.push(from);
      if (!adds) gone.push(to);
    });
    for (const cell of gone) wanted[cell] = 0;
    for (const cell of use) wanted[cell] = 1;
  }
  return wanted;
}

// The matrix after a step; -1 is the start. `count` contributions of `full`, `fresh` where the step wrote.
H.matrixAt = (side, step, group = H.state.group) => {
  const replay = H.replay(side, group);
  if (!replay) return null;
  if (step < replay.step) {
    replay.count = start(replay);
    replay.fresh.fill(0);
    replay.step = -1;
  }
  while (replay.step < step) advance(replay);
  if (replay.liveAt !== step) {
    replay.live = findLive(replay, step);
    replay.liveAt = step;
  }
  return replay;
};

// How much of the array each chip holds, 0 to 1, after a step: from the matrix of its group, else received.
H.progress = (side, step) => {
  const { plan, net } = side;
  if (side.progressAt === step) return side.progressPart;
  const part = new Float32Array(net.chips);
  side.progressAt = step;
  side.progressPart = part;
  const matrix = plan.group_count === 1 || plan.sends?.scope === 'all' ? H.matrixAt(side, step, 0) : null;
  if (matrix) {
    for (let g = 0; g < plan.group_count; g++) heldBy(side, step, g, part);
  } else if (plan.received) {
    const got = receivedBy(side, step);
    for (let v = 0; v < net.chips; v++) part[v] = Math.min(1, got[v] / plan.size);
  }
  return part;
};

function heldBy(side, step, group, part) {
  const matrix = H.matrixAt(side, step, group);
  if (!matrix) return;
  const { chunks, count, live, full, ranks } = matrix;
  for (let r = 0; r < ranks; r++) {
    let sum = 0;
    for (let c = 0; c < chunks; c++) if (live[r * chunks + c]) sum += Math.min(1, count[r * chunks + c] / full);
    part[side.vertexOf(group, r)] = sum / chunks;
  }
}

// Bytes that each chip has received by the end of a step.
function receivedBy(side, step) {
  const { plan, net } = side;
  const cached = side.gotten && side.gotten.step <= step ? side.gotten : { step: -1, sum: new Float64Array(net.chips) };
  while (cached.step < step) {
    cached.step += 1;
    const base = plan.key[cached.step] * net.chips;
    for (let v = 0; v < net.chips; v++) cached.sum[v] += plan.received.values[plan.received.code[base + v]];
  }
  side.gotten = cached;
  return cached.sum;
}
H.receivedBy = receivedBy;
