// Where chips, switches and links are. A view makes a layout of a network; painting knows only layouts.
// Coordinates are in pitches, the distance of two neighbouring chips; y grows downwards.

// A view: name, title, `fits(side)` gives 0 where it does not, else how well; `layout(side)` makes it.
H.view = (view) => H.views.push(view);

H.newLayout = (net, { spin = false, box = [0.56, 0.4] } = {}) => ({
  net,
  spin, // turns in space
  box, // width and height of a chip
  at: new Float32Array(net.vertices * 3),
  sizes: new Map(), // of switches that are drawn wider: vertex to [width, height]
  hidden: new Uint8Array(net.vertices),
  names: new Map(), // vertex to what stands in its box, where that is not its place
  texts: [], // {x, y, z, text, align, strong}
  frames: [], // {x, y, w, h} of sheets and nodes, from the middle
  points: [],
  starts: [0],
  links: [],
  dashed: [],
  tickOf: new Set(), // pieces that stand for one direction of a cable only
});

H.put = (layout, v, x, y, z = 0) => layout.at.set([x, y, z], v * 3);

H.spot = (layout, v) => layout.at.subarray(v * 3, v * 3 + 3);

// One line of a link: a list of [x, y, z]. A link may have several, such as the stubs of a wrap-around.
H.addPiece = (layout, link, line, dashed = false) => {
  for (const [x, y, z = 0] of line) layout.points.push(x, y, z);
  layout.starts.push(layout.points.length / 3);
  layout.links.push(link);
  layout.dashed.push(dashed ? 1 : 0);
};

H.straight = (layout, link) => {
  const { src, dst } = layout.net;
  H.addPiece(layout, link, [H.spot(layout, src[link]), H.spot(layout, dst[link])]);
};

// A link that is cut open: a stub at either end, in the direction of `by` at its source.
H.stubs = (layout, link, by) => {
  const { src, dst } = layout.net;
  const a = H.spot(layout, src[link]);
  const b = H.spot(layout, dst[link]);
  H.addPiece(layout, link, [a, [a[0] + by[0], a[1] + by[1], a[2] + by[2]]], true);
  H.addPiece(layout, link, [[b[0] - by[0], b[1] - by[1], b[2] - by[2]], b], true);
};

H.finish = (layout) => {
  const { net } = layout;
  layout.points = Float32Array.from(layout.points);
  layout.starts = Uint32Array.from(layout.starts);
  layout.links = Uint32Array.from(layout.links);
  layout.dashed = Uint8Array.from(layout.dashed);
  layout.pieces = layout.links.length;
  layout.piecesOf = piecesOf(layout);
  layout.orders = new Map();
  findBounds(layout);
  net.mate = net.mate || mates(net);
  return layout;
};

// Pieces of each link, in the order in which bytes cross them.
function piecesOf({ links, net }) {
  const found = Array.from({ length: net.src.length }, () => []);
  links.forEach((l, p) => found[l].push(p));
  return found;
}

// The other direction of each link's cable; -1 where there is none.
function mates(net) {
  const waiting = new Map();
  const mate = new Int32Array(net.src.length).fill(-1);
  for (let l = 0; l < mate.length; l++) {
    const back = net.dst[l] * net.vertices + net.src[l];
    const others = waiting.get(back);
    if (others && others.length) {
      mate[l] = others.shift();
      mate[mate[l]] = l;
    } else {
      const key = net.src[l] * net.vertices + net.dst[l];
      if (!waiting.has(key)) waiting.set(key, []);
      waiting.get(key).push(l);
    }
  }
  return mate;
}

function findBounds(layout) {
  const low = [Infinity, Infinity, Infinity];
  const high = [-Infinity, -Infinity, -Infinity];
  const see = (x, y, z, w = 0, h = 0) => {
    [[x, w], [y, h], [z, 0]].forEach(([c, r], a) => {
      low[a] = Math.min(low[a], c - r);
      high[a] = Math.max(high[a], c + r);
    });
  };
  for (let v = 0; v < layout.net.vertices; v++) {
    if (layout.hidden[v]) continue;
    const [w, h] = layout.sizes.get(v) || layout.box;
    see(...H.spot(layout, v), w / 2, h / 2);
  }
  for (let i = 0; i < layout.points.length; i += 3) see(layout.points[i], layout.points[i + 1], layout.points[i + 2]);
  for (const f of layout.frames) see(f.x, f.y, 0, f.w / 2, f.h / 2);
  for (const t of layout.texts) see(t.x, t.y, t.z || 0);
  layout.low = low;
  layout.high = high;
  layout.middle = low.map((c, a) => (c + high[a]) / 2);
  layout.radius = Math.hypot(...low.map((c, a) => high[a] - c)) / 2 || 1;
}

// ---- what several views ask of a grid

H.longAxes = (net) => net.axes.map((a, i) => [a, i]).filter(([a]) => a.length > 1).map(([, i]) => i);

// How a grid's link goes along its axis: 1 up, -1 down, and whether it is a wrap-around.
H.wayOf = (net, link) => {
  const a = net.axis[link];
  const d = net.axes.length;
  const ahead = net.coords[net.dst[link] * d + a] - net.coords[net.src[link] * d + a];
  let others = 0;
  for (let b = 0; b < d; b++) {
    if (b !== a) others += Math.abs(net.coords[net.dst[link] * d + b] - net.coords[net.src[link] * d + b]);
  }
  const wraps = Math.abs(ahead) > 1 || others > 0;
  return { axis: a, way: (ahead > 0) !== wraps ? 1 : -1, wraps };
};

// The best view of a side, or the one asked for if it fits.
H.viewOf = (side) => {
  const fitting = H.views.filter((v) => v.fits(side) > 0);
  const asked = fitting.find((v) => v.name === H.state.view);
  return asked || fitting.sort((a, b) => b.fits(side) - a.fits(side))[0];
};

H.layoutOf = (side, view) => {
  const key = view.grouped ? `${view.name}:${H.state.group}` : view.name;
  if (!side.layouts.has(key)) side.layouts.set(key, H.finish(view.layout(side)));
  return side.layouts.get(key);
};
