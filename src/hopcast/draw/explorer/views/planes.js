// Three axes and more as sheets: the first two axes across and down, one sheet for each place along the others.
// Links between sheets are ticks on the chip that they leave: to the next sheet up right, to the last down left.

const TITLE = 0.13; // room above a sheet for its name, of its height
const SCREEN = 1.45; // width of a stage for its height

H.view({
  name: 'planes',
  title: 'planes',
  fits: ({ net }) => (net.kind === 'grid' && H.longAxes(net).length > 2 ? (net.chips > 600 ? 9 : 7) : 0),
  layout: ({ net }) => {
    const layout = H.newLayout(net, { box: [0.5, 0.36] });
    const [across, down, ...rest] = H.longAxes(net);
    const wide = net.axes[across].length + 1.5;
    const tall = net.axes[down].length * (1 + TITLE) + 1.1;
    const sheets = rest.reduce((n, a) => n * net.axes[a].length, 1);
    const columns = columnsFor(sheets, wide, tall);
    for (let v = 0; v < net.chips; v++) {
      const at = H.coords(net, v);
      const sheet = number(net, rest, at);
      H.put(layout, v, at[across] + (sheet % columns) * wide, at[down] + Math.floor(sheet / columns) * tall);
    }
    for (let s = 0; s < sheets; s++) frame(layout, net, rest, s, columns, wide, tall);
    for (let l = 0; l < net.src.length; l++) {
      const { axis, way, wraps } = H.wayOf(net, l);
      if (rest.includes(axis)) tick(layout, l, way, rest.indexOf(axis));
      else if (!wraps) H.straight(layout, l);
      else H.stubs(layout, l, axis === across ? [0.6 * way, 0, 0] : [0, 0.6 * way, 0]);
    }
    return layout;
  },
});

// The number of a chip's sheet, the first of the other axes fastest.
function number(net, rest, at) {
  return [...rest].reverse().reduce((n, a) => n * net.axes[a].length + at[a], 0);
}

// About as wide as a screen.
function columnsFor(sheets, wide, tall) {
  let best = 1;
  const rows = (c) => Math.ceil(sheets / c);
  const empty = (c) => (rows(c) * c - sheets) / sheets;
  const shape = (c) => Math.abs(Math.log((c * wide) / (rows(c) * tall) / SCREEN)) + 2 * empty(c);
  for (let c = 1; c <= sheets; c++) if (shape(c) < shape(best)) best = c;
  return best;
}

function frame(layout, net, rest, sheet, columns, wide, tall) {
  const left = (sheet % columns) * wide;
  const top = Math.floor(sheet / columns) * tall;
  const parts = [];
  let number = sheet;
  for (const a of rest) {
    parts.push(`${net.axes[a].name} = ${number % net.axes[a].length}`);
    number = Math.floor(number / net.axes[a].length);
  }
  const [w, h] = [wide - 1.5, (tall - 1.1) / (1 + TITLE)];
  layout.frames.push({ x: left + (w - 1) / 2, y: top + (h - 1) / 2, w: w + 0.5, h: h + 0.5 });
  layout.texts.push({ x: left + (w - 1) / 2, y: top - 0.75, lift: -8, text: parts.join(', '), align: 'center', strong: true });
}

function tick(layout, link, way, nth) {
  const [x, y] = H.spot(layout, layout.net.src[link]);
  const by = 0.36 * way;
  const skew = nth ? 0.5 : 1;
  layout.tickOf.add(layout.links.length);
  H.addPiece(layout, link, [[x, y], [x + by * skew, y - by]]);
}
