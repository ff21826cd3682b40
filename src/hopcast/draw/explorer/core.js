// The explorer of hopcast. All files add to one object, H; build.py joins them in the order of
// SCRIPTS, each in a block of its own.
Object.assign(H, { views: [], sides: [], css: {}, hooks: [] });

H.$ = (id) => document.getElementById(id);

H.make = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) made.setAttribute(name, value === true ? '' : value);
  }
  made.append(...children);
  return made;
};

// ---- state: what is looked at; all of it stands in the address, so that a link opens the same picture

H.defaults = {
  step: -1, view: '', chunk: -1, rank: -1, group: 0, side: 0, theme: '', yaw: 0.62, pitch: 0.42,
  zoom: 1, panx: 0, pany: 0, pick: -1, link: -1, speed: 1, table: 0, labels: 1,
};
H.state = { ...H.defaults };

H.readHash = () => {
  const given = new URLSearchParams(location.hash.slice(1));
  const state = { ...H.defaults };
  for (const [name, value] of given) {
    if (!(name in state)) continue;
    if (typeof state[name] === 'string') state[name] = value;
    else if (Number.isFinite(Number(value))) state[name] = Number(value);
  }
  return state;
};

H.writeHash = () => {
  const parts = new URLSearchParams();
  for (const [name, value] of Object.entries(H.state)) {
    if (value === H.defaults[name]) continue;
    parts.set(name, typeof value === 'number' ? String(Number(value.toFixed(3))) : value);
  }
  const text = parts.toString();
  try {
    history.replaceState(null, '', text ? '#' + text : location.pathname + location.search);
  } catch {
    // A page inside a notebook has no address of its own.
  }
};

// What depends on what: a hook names the kinds of change that it follows.
H.on = (kinds, act) => H.hooks.push([kinds.split(' '), act]);

let pending = new Set();
H.changed = (kind) => {
  if (!pending.size) requestAnimationFrame(H.flush);
  pending.add(kind);
};

H.flush = () => {
  const now = pending;
  pending = new Set();
  for (const [kinds, act] of H.hooks) if (kinds.some((k) => now.has(k) || now.has('all'))) act();
  clearTimeout(H.hashTimer);
  H.hashTimer = setTimeout(H.writeHash, 120);
};

// Change some of the state; values out of range are brought back into it.
H.set = (patch, kind) => {
  Object.assign(H.state, patch);
  H.clamp();
  H.changed(kind || (('step' in patch) ? 'step' : 'all'));
};

H.clamp = () => {
  const s = H.state;
  s.side = s.side ? Math.min(1, H.sides.length - 1) : 0;
  const plan = H.sides[s.side].plan;
  const within = (v, low, high) => Math.max(low, Math.min(high, Math.round(v)));
  s.step = within(s.step, -1, H.ticks.length - 1);
  s.chunk = within(s.chunk, -1, plan.chunks - 1);
  s.rank = within(s.rank, -1, plan.ranks - 1);
  s.group = within(s.group, 0, plan.group_count - 1);
  s.pick = within(s.pick, -1, H.sides[s.side].net.vertices - 1);
  s.link = within(s.link, -1, H.sides[s.side].net.src.length - 1);
  s.zoom = Math.max(0.3, Math.min(40, s.zoom));
  s.pitch = Math.max(-1.57, Math.min(1.57, s.pitch));
};

// ---- arrays

const TYPES = {
  u1: Uint8Array, i1: Int8Array, u2: Uint16Array, i2: Int16Array, i4: Int32Array, f8: Float64Array,
};

H.unpack = async ({ t, z }) => {
  const zipped = Uint8Array.from(atob(z), (c) => c.charCodeAt(0));
  const stream = new Blob([zipped]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new TYPES[t](await new Response(stream).arrayBuffer());
};

// Replace every packed array inside a record, in place.
H.unpackAll = async (record) => {
  await Promise.all(Object.entries(record).map(async ([name, value]) => {
    if (value === null || typeof value !== 'object') return;
    if (typeof value.z === 'string' && value.t in TYPES) record[name] = await H.unpack(value);
    else await H.unpackAll(value);
  }));
};

// First index whose value is at least x, in ascending values.
H.lowerBound = (values, x) => {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < x) low = middle + 1;
    else high = middle;
  }
  return low;
};

// ---- words: the same as those of hopcast's own output

const digits = (v, n = 4) => String(Number(v.toPrecision(n)));

H.seconds = (s) => {
  for (const [scale, unit] of [[1, 's'], [1e-3, 'ms'], [1e-6, 'us'], [1e-9, 'ns']]) {
    if (s >= scale) return `${digits(s / scale)} ${unit}`;
  }
  return s > 0 ? `${digits(s)} s` : '0 s';
};

H.size = (bytes) => {
  for (const [power, unit] of [[5, 'Pi'], [4, 'Ti'], [3, 'Gi'], [2, 'Mi'], [1, 'Ki']]) {
    const count = bytes / 1024 ** power;
    if (count >= 1 && count < 8192 && (Number.isInteger(count) || (count < 64 && Number.isInteger(2 * count)))) {
      return `${digits(count)} ${unit}B`;
    }
  }
  for (const [power, unit] of [[5, 'P'], [4, 'T'], [3, 'G'], [2, 'M'], [1, 'k']]) {
    if (bytes >= 1000 ** power) return `${digits(bytes / 1000 ** power)} ${unit}B`;
  }
  return `${digits(bytes)} B`;
};

H.rate = (r) => {
  for (const [power, unit] of [[4, 'T'], [3, 'G'], [2, 'M'], [1, 'k']]) {
    if (r >= 1000 ** power) return `${digits(r / 1000 ** power)} ${unit}B/s`;
  }
  return `${digits(r)} B/s`;
};

H.count = (n) => String(n).replace(/\B(?=(\d{3})+(?!\d))/g, ',');
H.percent = (part) => `${(100 * part).toFixed(part > 0 && part < 0.0995 ? 1 : 0)}%`;
H.counted = (n, noun) => `${H.count(n)} ${noun}${n === 1 ? '' : noun.endsWith('ch') ? 'es' : 's'}`;

// Numbers in runs: 0-3, 7
H.runs = (numbers) => {
  const parts = [];
  for (let i = 0; i < numbers.length; i++) {
    let j = i;
    while (j + 1 < numbers.length && numbers[j + 1] === numbers[j] + 1) j++;
    parts.push(j > i + 1 ? `${numbers[i]}-${numbers[j]}` : j > i ? `${numbers[i]}, ${numbers[j]}` : `${numbers[i]}`);
    i = j;
  }
  return parts.join(', ');
};
