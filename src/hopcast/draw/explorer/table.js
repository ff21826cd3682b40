// The current step in words and tables: for screen readers, for copying, and for whoever wants the numbers.

const MOST_ROWS = 200;
const HOTTEST = 12;

// One sentence for each side.
H.sentence = (side) => {
  const { plan } = side;
  const { step, done, over, moving } = H.now(side);
  if (step < 0) return `Before the first of ${H.counted(plan.steps, 'step')}. ${spread(side)}`;
  if (moving < 0) return `Finished at ${H.seconds(plan.ends[plan.steps - 1])}. ${spread(side)}`;
  const rows = H.rowsOf(side, step);
  const parts = [plan.steps === 1 ? 'The only step' : `Step ${step} of 0 to ${plan.steps - 1}${done ? '' : ', under way'}`];
  if (plan.sends && plan.sends.scope !== 'chunks') parts.push(H.counted(rows.length, 'send'));
  if (plan.load) parts.push(`busiest link ${H.percent(side.peak[step])} of the step, mean ${H.percent(side.mean[step])}`);
  if (over) parts.push(`finished at ${H.seconds(plan.ends[plan.steps - 1])}`);
  return `${parts.join('; ')}. ${spread(side)}`;
};

// How far the collective has come.
function spread(side) {
  const matrix = H.matrixAt(side, H.held(side));
  if (!matrix) return '';
  const { count, live, goal, full, chunks, ranks } = matrix;
  let [wanted, ready, most] = [0, 0, 0];
  const held = new Int32Array(ranks);
  for (let cell = 0; cell < ranks * chunks; cell++) {
    if (count[cell]) held[Math.floor(cell / chunks)] += 1;
    if (live[cell]) most = Math.max(most, count[cell]);
    if (goal[cell]) {
      wanted += 1;
      if (count[cell] === full) ready += 1;
    }
  }
  if (full > 1) return `Sums of up to ${most} of ${full}; ${H.count(ready)} of ${H.count(wanted)} results complete.`;
  if (wanted === ranks * chunks) {
    const [low, high] = [Math.min(...held), Math.max(...held)];
    return low === high ? `Each rank holds ${H.count(low)} of ${H.count(chunks)} chunks.`
      : `Ranks hold ${H.count(low)} to ${H.count(high)} of ${H.count(chunks)} chunks.`;
  }
  return `${H.count(ready)} of ${H.count(wanted)} chunks are where they belong.`;
}

H.chunkRange = (plan, row) => {
  const { chunk, count } = plan.sends;
  const last = chunk[row] + count[row] - 1;
  if (count[row] === 1) return String(chunk[row]);
  return last < plan.chunks ? `${chunk[row]}-${last}` : `${chunk[row]}-${plan.chunks - 1}, 0-${last - plan.chunks}`;
};

function table(caption, heads, rows, id) {
  return H.make('table', { id },
    H.make('caption', {}, caption),
    H.make('thead', {}, H.make('tr', {}, ...heads.map((t) => H.make('th', { scope: 'col' }, t)))),
    H.make('tbody', {}, ...rows.map((cells) => H.make('tr', {}, ...cells.map((t) => H.make('td', {}, String(t)))))));
}

function sendsTable(side, step) {
  const { plan, net } = side;
  const { sends } = plan;
  const rows = H.rowsOf(side, step);
  const cells = rows.slice(0, MOST_ROWS).map((r) => {
    const [ready, , end] = H.timesOf(side, r, step);
    return [
      H.place(net, sends.src[r]), H.place(net, sends.dst[r]), H.chunkRange(plan, r), sends.op[r] ? 'reduce' : 'copy',
      H.size(sends.bytes[r]), `${H.seconds(ready)} to ${H.seconds(end)}`,
    ];
  });
  const more = rows.length > MOST_ROWS ? ` (the first ${MOST_ROWS} of ${H.count(rows.length)})` : '';
  const few = sends.scope === 'chunks' ? ` of chunks ${sends.chunks.join(', ')}` : '';
  return table(`Sends of step ${step}${few}${more}`, ['from', 'to', 'chunks', 'op', 'bytes', 'time'], cells, `sends${side.number}`);
}

function loadTable(side, step) {
  const { net } = side;
  const links = Array.from({ length: net.src.length }, (_, l) => l).filter((l) => H.bytes(side, step, l) > 0);
  links.sort((a, b) => H.busy(side, step, b) - H.busy(side, step, a) || a - b);
  const cells = links.slice(0, HOTTEST).map((l) => [
    H.linkName(net, l), H.size(H.bytes(side, step, l)), H.percent(H.busy(side, step, l)),
  ]);
  const title = `Busiest of ${H.counted(links.length, 'link')} that carry bytes in step ${step}`;
  return table(title, ['link', 'bytes', 'of the step'], cells, `loads${side.number}`);
}

function heldTable(side) {
  const matrix = H.matrixAt(side, H.held(side));
  if (!matrix) return '';
  const { chunks, count, live, full, ranks } = matrix;
  const cells = Array.from({ length: Math.min(ranks, MOST_ROWS) }, (_, r) => {
    const whole = [];
    const sums = [];
    for (let c = 0; c < chunks; c++) {
      const k = count[r * chunks + c];
      if (k === full && live[r * chunks + c]) whole.push(c);
      else if (k && live[r * chunks + c]) sums.push(`${c}: ${k} of ${full}`);
    }
    return full > 1 ? [r, H.runs(whole) || 'none', sums.slice(0, 32).join('; ') || 'none'] : [r, whole.length, H.runs(whole)];
  });
  const heads = full > 1 ? ['rank', 'complete chunks', 'partial sums'] : ['rank', 'chunks held', 'which'];
  const when = H.held(side) < 0 ? 'at the start' : `after step ${H.held(side)}`;
  return table(`What ranks hold ${when}`, heads, cells, `held${side.number}`);
}

H.fillTable = () => {
  const open = H.$('table').open;
  H.$('live').textContent = H.playing ? '' : H.sides.map((s) => (H.sides.length > 1 ? `${'AB'[s.number]}: ` : '') + H.sentence(s)).join(' ');
  if (!open || H.playing) return;
  const parts = [];
  for (const side of H.sides) {
    const { moving: step } = H.now(side);
    if (H.sides.length > 1) parts.push(H.make('h3', {}, `${'AB'[side.number]}: ${side.name}`));
    if (step >= 0 && side.plan.sends) parts.push(sendsTable(side, step));
    if (step >= 0 && side.plan.load) parts.push(loadTable(side, step));
    const held = heldTable(side);
    if (held) parts.push(held);
  }
  H.$('tables').replaceChildren(...parts);
};
