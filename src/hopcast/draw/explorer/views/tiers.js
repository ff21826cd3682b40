// Networks with switches: chips in one block for each node, with the switch of the node as a bar below them, so that
// no link from above passes it; switches that join nodes, and those above, each in a row of its own. Switches with
// the same neighbours are drawn as one.

const ROW = 16; // chips of a lone block that stand in one row
const STACK = 8;
const LINE = 0.72; // from one row of a stack to the next
const BELOW = 1.25; // from the last row of a node's chips to their switch

H.view({
  name: 'tiers',
  title: 'tiers',
  fits: ({ net }) => (net.kind === 'grid' ? 0 : 10),
  layout: ({ net }) => {
    const layout = H.newLayout(net, { box: [0.7, 0.5] });
    const blocks = byBlock(net);
    const split = blocks.length === 1 && blocks[0].length > ROW && Math.max(...net.tier) === 1;
    const wide = net.kind === 'slices' ? placeSlices(layout, net, blocks) : placeBlocks(layout, blocks, split);
    placeSwitches(layout, net, blocks, wide, split);
    for (let l = 0; l < net.src.length; l++) connect(layout, net, l);
    return layout;
  },
});

function byBlock(net) {
  const blocks = [];
  net.block.forEach((b, chip) => (blocks[b] = blocks[b] || []).push(chip));
  return blocks;
}

// Chips of a block in a row, in two rows about their switch, or stacked where blocks are many.
function placeBlocks(layout, blocks, split) {
  const all = blocks.reduce((n, b) => n + b.length, 0);
  const stacked = !split && all > 72;
  let left = 0;
  for (const chips of blocks) {
    const rows = split ? 2 : stacked ? Math.min(STACK, chips.length) : 1;
    const columns = Math.ceil(chips.length / rows);
    chips.forEach((chip, i) => {
      const row = split ? Math.floor(i / columns) : i % rows;
      const column = split ? i % columns : Math.floor(i / rows);
      H.put(layout, chip, left + column + (stacked ? row * 0.08 : 0), split ? row * 4.4 : row * LINE);
    });
    if (blocks.length > 1) {
      const w = columns + (stacked ? 0.6 : 0.1);
      layout.frames.push({ x: left + (columns - 1) / 2 + (stacked ? 0.28 : 0), y: ((rows - 1) * LINE) / 2 + 0.62, w, h: rows * LINE + 1.6 });
    }
    left += columns + (stacked ? 1.1 : 0.6);
  }
  return left - 1;
}

// The chips of a slice as a sheet; a third axis goes back into the picture.
function placeSlices(layout, net, blocks) {
  const [slice, across, down, back] = [0, ...H.longAxes(net).filter((a) => a > 0)];
  const length = (a) => (a === undefined ? 1 : net.axes[a].length);
  if (back !== undefined) layout.box = [0.3, 0.24]; // those behind stay in sight
  const pitch = length(across) + 0.4 * length(back) + 1.2;
  const count = length(slice);
  for (let v = 0; v < net.chips; v++) {
    const at = H.coords(net, v);
    const z = back === undefined ? 0 : at[back];
    const y = down === undefined ? 0 : at[down];
    H.put(layout, v, at[slice] * pitch + (across === undefined ? 0 : at[across]) + 0.38 * z, y - 0.38 * z);
  }
  for (let s = 0; s < count; s++) {
    const w = length(across) + 0.38 * (length(back) - 1);
    layout.frames.push({ x: s * pitch + (w - 1) / 2, y: (length(down) - 1) / 2 - 0.19 * (length(back) - 1), w: w + 0.7, h: length(down) + 0.38 * (length(back) - 1) + 0.7 });
    layout.texts.push({ x: s * pitch + (w - 1) / 2, y: length(down) + 0.1, text: `slice ${s}`, align: 'center', strong: true });
  }
  return count * pitch - 1.2;
}

function placeSwitches(layout, net, blocks, wide, split) {
  const leads = [];
  for (let v = net.chips; v < net.vertices; v++) {
    if (net.lead[v] === v) (leads[net.tier[v]] = leads[net.tier[v]] || []).push(v);
    else layout.hidden[v] = 1;
  }
  const rows = Array.from({ length: net.chips }, (_, v) => H.spot(layout, v)[1]);
  let top = Math.min(...rows);
  const gap = Math.max(1.9, (wide * 0.46) / Math.max(1, leads.length - 1));
  leads.forEach((here, tier) => {
    if (!tier) return;
    const local = tier === 1 && here.length > 1 && here.length === blocks.length && net.kind !== 'slices';
    if (!local) top -= gap;
    const level = split ? 2.2 : local ? Math.max(...rows) + BELOW : top;
    here.forEach((v, i) => {
      if (local || (here.length === 1 && tier === 1)) bar(layout, v, blocks[i], level);
      else H.put(layout, v, ((i + 0.5) / here.length) * (wide + 1) - 0.5, top);
      if (!layout.sizes.has(v)) layout.sizes.set(v, [Math.min(2.6, ((wide + 1) / here.length) * 0.8), 0.5]);
      nameSwitch(layout, net, v);
    });
    const [first, last] = [here[0], here[here.length - 1]].map((v) => H.place(net, v));
    const [x] = H.spot(layout, here[0]);
    if (here.length > 1 && !local) {
      layout.texts.push({
        x: x - layout.sizes.get(here[0])[0] / 2, y: H.spot(layout, here[0])[1], lift: -16, align: 'left',
        text: `${here.length} switches, ${first} to ${last}`, unless: here[0], pad: true,
      });
    }
  });
  for (let v = net.chips; v < net.vertices; v++) {
    if (layout.hidden[v]) layout.at.set(H.spot(layout, net.lead[v]), v * 3);
    if (layout.sizes.has(net.lead[v])) layout.sizes.set(v, layout.sizes.get(net.lead[v]));
  }
}

// A switch as a bar along the chips of its block.
function bar(layout, v, chips, y) {
  const xs = chips.map((c) => H.spot(layout, c)[0]);
  const left = Math.min(...xs) - 0.42;
  const right = Math.max(...xs) + 0.42;
  H.put(layout, v, (left + right) / 2, y);
  layout.sizes.set(v, [right - left, 0.62]);
  layout.bars = (layout.bars || new Set()).add(v);
}

function nameSwitch(layout, net, v) {
  let many = 0;
  for (let w = v; w < net.vertices; w++) if (net.lead[w] === v) many += 1;
  layout.names.set(v, many > 1 ? [`${many} x ${H.place(net, v)}`, `${many} switches`, `x${many}`] : [H.place(net, v)]);
}

// Links to a bar are upright; others go straight from middle to middle.
function connect(layout, net, link) {
  const ends = [net.src[link], net.dst[link]].map((v) => [...H.spot(layout, v)]);
  const bars = layout.bars || new Set();
  if (net.kind === 'slices' && net.src[link] < net.chips && net.dst[link] < net.chips) {
    const { wraps, way } = H.wayOf(net, link);
    if (wraps) {
      const unit = [0, 1, 2].map((d) => (d === H.longAxes(net).filter((a) => a > 0).indexOf(net.axis[link]) ? way : 0));
      H.stubs(layout, link, [0.5 * unit[0] + 0.2 * unit[2], 0.5 * unit[1] - 0.2 * unit[2], 0]);
      return;
    }
  }
  if (bars.has(net.lead[net.dst[link]])) ends[1][0] = ends[0][0];
  else if (bars.has(net.lead[net.src[link]])) ends[0][0] = ends[1][0];
  H.addPiece(layout, link, ends);
}
