// Start: unpack the data, build what stays, and connect what changes.

const BIG = 4096; // chips above which a picture is repainted less eagerly while a schedule plays

function readColours() {
  const root = document.documentElement;
  if (H.state.theme) root.dataset.theme = H.state.theme;
  else delete root.dataset.theme;
  const style = getComputedStyle(root);
  const read = (name) => style.getPropertyValue(`--${name}`).trim();
  for (const name of ['bg', 'ink', 'muted', 'panel', 'rim', 'chip', 'edge', 'switch', 'blank', 'grid', 'r1', 'r2']) H.css[name] = read(name);
  H.css.loads = Array.from({ length: 8 }, (_, i) => read(`load${i}`));
  H.css.font = getComputedStyle(document.body).fontFamily;
  H.$('theme').textContent = H.state.theme || 'auto';
  H.$('theme').setAttribute('aria-label', `theme: ${H.state.theme || 'as the system'}`);
}

function field(name, key) {
  H.$(name).addEventListener('input', (e) => {
    const text = e.target.value.trim();
    const value = text === '' ? -1 : Number(text);
    if (Number.isInteger(value)) H.set({ [key]: value }, key === 'group' ? 'all' : 'follow');
  });
}

function listen() {
  for (const [id, act] of [
    ['play', () => H.play()], ['first', () => H.go(-1)], ['last', () => H.go(H.ticks.length - 1)],
    ['back', () => H.go(H.state.step - 1)], ['next', () => H.go(H.state.step + 1)],
    ['theme', () => H.nextTheme()], ['helpbutton', () => H.help()], ['closehelp', () => H.help()],
    ['chunkback', () => H.nextChunk(-1)], ['chunknext', () => H.nextChunk(1)],
    ['rankback', () => H.nextRank(-1)], ['ranknext', () => H.nextRank(1)],
    ['clearfollow', () => H.set({ chunk: -1, rank: -1 })], ['whole', () => H.resetCamera()],
  ]) H.$(id).addEventListener('click', act);
  H.$('scrub').addEventListener('input', (e) => H.go(Number(e.target.value)));
  H.$('speed').addEventListener('change', (e) => H.set({ speed: Number(e.target.value) }, 'speed'));
  field('chunkfield', 'chunk');
  field('rankfield', 'rank');
  field('groupfield', 'group');
  H.$('table').addEventListener('toggle', () => H.set({ table: H.$('table').open ? 1 : 0 }, 'table'));
  H.listenToKeys();
  H.listenToMatrix();
  H.listenToStrip();
  H.listenToGantt();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => H.changed('all'));
  addEventListener('resize', () => H.changed('all'));
  addEventListener('hashchange', () => {
    H.state = H.readHash();
    H.clamp();
    H.stop();
    H.$('table').open = H.state.table === 1;
    H.changed('all');
  });
}

function connect() {
  let skipped = false;
  H.on('all', readColours);
  H.on('all camera step follow phase', () => {
    // The largest pictures leave out every second frame of what plays.
    skipped = H.sides.some((s) => s.net.chips > BIG) && H.phase < 1 && !skipped;
    if (!skipped) H.stages.forEach(H.paint);
  });
  H.on('all', H.paintViews);
  H.on('all step follow phase', H.paintCaptions);
  H.on('all step follow', H.paintFollow);
  H.on('all step', H.paintPick);
  H.on('all step follow', H.paintMatrix);
  H.on('all step phase', H.paintStrip);
  H.on('all step follow', H.paintGantt);
  H.on('all', H.paintWords);
  H.on('all step table', H.fillTable);
  H.on('all speed', () => { H.$('speed').value = String(H.state.speed); });
}

// What tests and curious readers ask: the same numbers that are drawn.
const ask = {
  state: () => ({ ...H.state, phase: H.phase, playing: H.playing }),
  sides: () => H.sides.length,
  moments: () => Array.from(H.ticks),
  now: (side = 0) => H.now(H.sides[side]),
  places: (side) => Array.from({ length: H.sides[side].net.vertices }, (_, v) => H.place(H.sides[side].net, v)),
  loads: (side, step) => Array.from({ length: H.sides[side].net.src.length }, (_, l) => H.bytes(H.sides[side], step, l)),
  matrix: (side, step, group = 0) => {
    const found = H.matrixAt(H.sides[side], step, group);
    return found && {
      holders: Array.from(found.holders), count: Array.from(found.count), live: Array.from(found.live),
      fresh: Array.from(found.fresh), full: found.full,
    };
  },
  journey: (side, chunk, group = 0) => H.journey(H.sides[side], chunk, group).map(({ step, src, dst }) => [step, src, dst]),
  view: (side = 0) => H.viewOf(H.sides[side]).name,
  spots: (side = 0) => {
    const layout = H.layoutOf(H.sides[side], H.viewOf(H.sides[side]));
    return Array.from({ length: H.sides[side].net.vertices }, (_, v) => Array.from(H.spot(layout, v)));
  },
  camera: (patch) => H.set(patch, 'camera'),
};

// Put answers on the page, in the place of those that are on it.
H.show = async (data) => {
  await H.unpackAll(data);
  H.css.chunks = data.chunks;
  H.sides = data.sides.map(H.side);
  H.setTicks();
  H.state = H.readHash();
  H.clamp();
  H.$('command').textContent = data.command;
  H.$('commandline').hidden = !data.command;
  H.stages.length = 0;
  H.$('stages').replaceChildren();
  H.sides.forEach((side) => H.addStage(side, H.$('stages')));
  H.$('stages').classList.toggle('two', H.sides.length > 1);
  H.$('table').open = H.state.table === 1;
  H.buildNumbers();
  H.stages.forEach(H.resize);
  H.changed('all');
};

async function start() {
  await H.show(JSON.parse(H.$('data').textContent));
  H.buildLegend();
  listen();
  connect();
  requestAnimationFrame(() => requestAnimationFrame(() => { window.hopcast.ready = true; }));
}

window.hopcast = { ready: false, ...ask };
H.started = start();
