// One side of the page: a network, a schedule on it, and the readings of both that the panels share.

const BINS = 8; // idle, and seven parts of a step's time

H.side = (data, number) => {
  const { net, plan } = data;
  const side = { ...data, number, replays: new Map(), layouts: new Map(), bins: new Map() };
  side.name = `${plan.algorithm} on ${net.name}`;
  side.rate = Float64Array.from(net.rate.code, (c) => net.rate.values[c]);
  numberRanks(side);
  measureLoads(side);
  return side;
};

// Group and local rank of every vertex; switches belong to all groups.
function numberRanks(side) {
  const { net, plan } = side;
  side.groupOf = new Int32Array(net.vertices).fill(-1);
  side.localOf = new Int32Array(net.vertices).fill(-1);
  plan.groups.forEach((v, i) => {
    side.groupOf[v] = Math.floor(i / plan.ranks);
    side.localOf[v] = i % plan.ranks;
  });
  side.vertexOf = (group, rank) => plan.groups[group * plan.ranks + rank];
}

// Peak and mean of the links' busy part of each step.
function measureLoads(side) {
  const { plan, net } = side;
  const links = net.src.length;
  side.patterns = plan.load ? plan.load.code.length / links : 0;
  side.peak = new Float64Array(plan.steps);
  side.mean = new Float64Array(plan.steps);
  if (!plan.load) return;
  const known = new Map();
  for (let s = 0; s < plan.steps; s++) {
    const key = plan.key[s] + ':' + plan.seconds[s];
    if (!known.has(key)) {
      let most = 0;
      let sum = 0;
      for (let l = 0; l < links; l++) {
        const busy = H.busy(side, s, l);
        if (busy > most) most = busy;
        sum += busy;
      }
      known.set(key, [most, sum / links]);
    }
    [side.peak[s], side.mean[s]] = known.get(key);
  }
}

// Bytes on a link in a step.
H.bytes = (side, step, link) => {
  const { load, key } = side.plan;
  return load && step >= 0 ? load.values[load.code[key[step] * side.net.src.length + link]] : 0;
};

// The part of a step's time that a link's bytes take.
H.busy = (side, step, link) => {
  const bytes = H.bytes(side, step, link);
  return bytes > 0 ? bytes / side.rate[link] / side.plan.seconds[step] : 0;
};

H.bin = (busy) => (busy > 0 ? 1 + Math.min(BINS - 2, Math.floor(busy * (BINS - 1) - 1e-9)) : 0);

// The bin of every link in a step; steps of one pattern share it.
H.binsOf = (side, step) => {
  const key = step < 0 || !side.plan.load ? -1 : side.plan.key[step];
  if (!side.bins.has(key)) {
    const bins = new Uint8Array(side.net.src.length);
    if (key >= 0) for (let l = 0; l < bins.length; l++) bins[l] = H.bin(H.busy(side, step, l));
    side.bins.set(key, bins);
  }
  return side.bins.get(key);
};

// ---- names, as hopcast prints them

H.coords = (net, chip) => {
  const d = net.axes.length;
  return Array.from(net.coords.subarray(chip * d, chip * d + d));
};

H.place = (net, v) => {
  if (v >= net.chips) return net.labels[v - net.chips] || `switch ${v - net.chips}`;
  const at = H.coords(net, v);
  if (net.kind !== 'slices') return at.join(',');
  const inside = at.slice(1).join(',');
  return net.axes[0].length > 1 ? `${at[0]}/${inside}` : inside;
};

H.linkName = (net, l) => `${net.axes[net.axis[l]].name} ${H.place(net, net.src[l])}>${H.place(net, net.dst[l])}`;

// ---- the clock: one for both sides

// Moments at which a step of any side is over. With one side, moment and step are the same number.
H.setTicks = () => {
  const [first, second] = H.sides;
  if (!second) {
    H.ticks = Float64Array.from(first.plan.ends);
    return;
  }
  const all = [...first.plan.ends, ...second.plan.ends].sort((a, b) => a - b);
  H.ticks = Float64Array.from(all.filter((t, i) => i === 0 || t > all[i - 1] * (1 + 1e-9)));
};

H.total = () => Math.max(...H.sides.map((s) => s.plan.ends[s.plan.steps - 1] || 0));

// The step that a side is in at the page's moment: `done` where it ends then, `over` after the last one, `moving`
// where its sends are shown: a side that has finished earlier than the other shows none.
H.now = (side) => {
  const moment = H.state.step;
  const { ends, steps } = side.plan;
  if (moment < 0 || !steps) return { step: -1, done: true, over: !steps, moving: -1 };
  if (H.sides.length === 1) return { step: moment, done: true, over: moment === steps - 1, moving: moment };
  const t = H.ticks[moment];
  const step = Math.min(steps - 1, H.lowerBound(ends, t * (1 - 1e-9)));
  const after = ends[steps - 1] < t * (1 - 1e-9);
  return { step, done: ends[step] <= t * (1 + 1e-9), over: ends[steps - 1] <= t * (1 + 1e-9), moving: after ? -1 : step };
};

// The last step that is over: what the ranks hold.
H.held = (side) => {
  const { step, done } = H.now(side);
  return done ? step : step - 1;
};

// ---- sends

H.rowsOf = (side, step, group = H.state.group) => {
  const { sends } = side.plan;
  if (!sends || step < 0) return [];
  if (side.rowsKey === `${step}:${group}`) return side.rowsFound;
  const found = [];
  for (let r = sends.start[step]; r < sends.start[step + 1]; r++) {
    if (H.inGroup(side, sends.src[r], group) && H.inGroup(side, sends.dst[r], group)) found.push(r);
  }
  side.rowsKey = `${step}:${group}`;
  side.rowsFound = found;
  return found;
};

H.inGroup = (side, v, group) => side.groupOf[v] === group || side.groupOf[v] < 0;

H.moves = (side, row, chunk) => {
  const { sends, chunks } = side.plan;
  return (chunk - sends.chunk[row] + chunks) % chunks < sends.count[row];
};

// Links that a send crosses, one list for each piece of it; null where the page does not hold them.
H.waysOf = (side, row) => {
  const { routes } = side.plan.sends;
  if (!routes) return null;
  const pair = routes.of[row];
  const ways = [];
  for (let p = routes.first[pair]; p < routes.first[pair + 1]; p++) {
    ways.push(Array.from(routes.links.subarray(routes.start[p], routes.start[p + 1])));
  }
  return ways;
};

// The rank that owns a chunk: it had it at the start, or it wants the sum; -1 where all do.
H.owner = (plan, chunk) => {
  if (!plan.origin) return -1;
  return plan.origin[chunk] >= 0 ? plan.origin[chunk] : plan.goal[chunk];
};

// The colour of a chunk: that of its owner; where it has none its own or, of many, that of its part of the array.
H.hue = (plan, chunk) => {
  const owner = H.owner(plan, chunk);
  if (owner >= 0) return owner;
  return plan.chunks <= 64 ? chunk : Math.floor((chunk * H.css.chunks.length) / plan.chunks);
};
