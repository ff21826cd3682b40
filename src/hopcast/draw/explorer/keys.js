// The keyboard does everything that the pointer does.

const TURN = 0.12;
const PAN = 0.06;

// key, what it does in words, and how
H.keys = [
  [' ', 'play or pause', () => H.play()],
  ['ArrowRight', 'next step', () => H.go(H.state.step + 1)],
  ['ArrowLeft', 'previous step', () => H.go(H.state.step - 1)],
  ['PageDown', 'ten steps on', () => H.go(H.state.step + 10)],
  ['PageUp', 'ten steps back', () => H.go(H.state.step - 10)],
  ['Home', 'before the first step', () => H.go(-1)],
  ['End', 'after the last step', () => H.go(H.ticks.length - 1)],
  [']', 'follow the next chunk', () => H.nextChunk(1)],
  ['[', 'follow the previous chunk', () => H.nextChunk(-1)],
  ['}', 'follow the next rank', () => H.nextRank(1)],
  ['{', 'follow the previous rank', () => H.nextRank(-1)],
  ['Escape', 'follow and choose nothing', () => H.set({ chunk: -1, rank: -1, pick: -1, link: -1 })],
  ['g', 'next group', () => nextGroup(1)],
  ['G', 'previous group', () => nextGroup(-1)],
  ['v', 'next view', () => nextView()],
  ['s', 'other side, when two are compared', () => H.set({ side: (H.state.side + 1) % H.sides.length, pick: -1, link: -1 })],
  ['.', 'choose the next chip or switch', () => nextVertex(1)],
  [',', 'choose the previous chip or switch', () => nextVertex(-1)],
  [';', 'choose the next link of that chip', () => H.nextLink()],
  ['+', 'zoom in', () => H.set({ zoom: H.state.zoom * 1.25 }, 'camera')],
  ['-', 'zoom out', () => H.set({ zoom: H.state.zoom / 1.25 }, 'camera')],
  ['0', 'whole picture', () => resetCamera()],
  ['Shift+ArrowLeft', 'turn or move left', () => turn(-1, 0)],
  ['Shift+ArrowRight', 'turn or move right', () => turn(1, 0)],
  ['Shift+ArrowUp', 'turn or move up', () => turn(0, -1)],
  ['Shift+ArrowDown', 'turn or move down', () => turn(0, 1)],
  ['>', 'play faster', () => H.set({ speed: Math.min(8, H.state.speed * 2) })],
  ['<', 'play slower', () => H.set({ speed: Math.max(0.25, H.state.speed / 2) })],
  ['a', 'open or close the table of the step', () => { H.$('table').open = !H.$('table').open; }],
  ['t', 'light, dark or as the system', () => nextTheme()],
  ['?', 'these keys', () => H.help()],
];

function nextGroup(by) {
  const { plan } = H.sides[H.state.side];
  if (!plan.sends || plan.sends.scope !== 'all') return;
  H.set({ group: (H.state.group + by + plan.group_count) % plan.group_count });
}

function nextView() {
  const side = H.sides[H.state.side];
  const fitting = H.views.filter((v) => v.fits(side) > 0);
  const now = fitting.indexOf(H.viewOf(side));
  H.set({ view: fitting[(now + 1) % fitting.length].name, zoom: 1, panx: 0, pany: 0 });
}

function nextVertex(by) {
  const { vertices } = H.sides[H.state.side].net;
  const { layout } = H.stages[H.state.side];
  let v = H.state.pick;
  do v = (v + by + vertices + (v < 0 && by < 0 ? 1 : 0)) % vertices; while (layout.hidden[v]);
  H.set({ pick: v, link: -1 });
}

function resetCamera() {
  const { zoom, panx, pany, yaw, pitch } = H.defaults;
  H.set({ zoom, panx, pany, yaw, pitch }, 'camera');
}
H.resetCamera = resetCamera;

function turn(x, y) {
  const { spin } = H.stages[H.state.side].layout;
  const s = H.state;
  if (spin) H.set({ yaw: s.yaw + x * TURN, pitch: s.pitch - y * TURN }, 'camera');
  else H.set({ panx: s.panx + x * PAN, pany: s.pany + y * PAN }, 'camera');
}

function nextTheme() {
  const order = ['', 'light', 'dark'];
  H.set({ theme: order[(order.indexOf(H.state.theme) + 1) % order.length] });
}
H.nextTheme = nextTheme;

H.help = () => {
  const dialog = H.$('help');
  if (dialog.open) dialog.close();
  else dialog.showModal();
};

H.listenToKeys = () => {
  const names = { ' ': 'Space', ArrowRight: 'Right', ArrowLeft: 'Left', 'Shift+ArrowLeft': 'Shift Left',
    'Shift+ArrowRight': 'Shift Right', 'Shift+ArrowUp': 'Shift Up', 'Shift+ArrowDown': 'Shift Down' };
  H.$('keylist').replaceChildren(...H.keys.flatMap(([key, text]) => [
    H.make('dt', {}, H.make('kbd', {}, names[key] || key)), H.make('dd', {}, text)]));
  document.addEventListener('keydown', (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const on = e.target.tagName;
    const typing = on === 'INPUT' && e.target.type !== 'range';
    if (typing && e.key !== 'Escape') return;
    // Space and the arrows keep their meaning on buttons, sliders and open lists.
    if (e.key === ' ' && (on === 'BUTTON' || on === 'SUMMARY' || on === 'SELECT')) return;
    if (on === 'SELECT' || H.$('help').open) {
      if (e.key === '?' && H.$('help').open) H.help();
      return;
    }
    const name = e.shiftKey && e.key.startsWith('Arrow') ? `Shift+${e.key}` : e.key;
    const found = H.keys.find(([key]) => key === name);
    if (!found) return;
    e.preventDefault();
    found[2]();
  });
};
