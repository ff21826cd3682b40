// Everything beside the pictures: views, legend, follow, numbers, formula, findings, and the words about them.

H.$$ = (query) => [...document.querySelectorAll(query)];

// ---- views, sides and the legend

H.paintViews = () => {
  const side = H.sides[H.state.side];
  const current = H.viewOf(side);
  const fitting = H.views.filter((v) => H.sides.some((s) => v.fits(s) > 0));
  const chain = side.net.axes.every((a) => !a.wraps);
  H.$('views').replaceChildren(...fitting.map((v) => H.make('button', {
    type: 'button', 'aria-pressed': String(v === current), 'data-view': v.name,
    onclick: () => H.set({ view: v.name, zoom: 1, panx: 0, pany: 0 }),
  }, v.name === 'line' && chain ? 'chain' : v.title)));
  H.$('sides').hidden = H.sides.length < 2;
  H.$('sides').replaceChildren(...H.sides.map((s, i) => H.make('button', {
    type: 'button', 'aria-pressed': String(i === H.state.side), onclick: () => H.set({ side: i, pick: -1, link: -1 }),
  }, `${'AB'[i]}: ${s.name}`)));
};

H.buildLegend = () => {
  const words = ['idle', ...Array.from({ length: 7 }, (_, i) => `${Math.round((100 * i) / 7)} to ${Math.round((100 * (i + 1)) / 7)}%`)];
  H.$('legend').replaceChildren(
    H.make('span', {}, 'link busy, part of the step'),
    ...words.map((text, i) => H.make('i', { style: `background:var(--load${i})`, title: text })),
    H.make('span', {}, '100%'),
  );
};

// ---- captions and the clock

H.paintCaptions = () => {
  const { step } = H.state;
  for (const stage of H.stages) {
    const { side } = stage;
    const head = H.sides.length > 1 ? `${'AB'[side.number]}: ${side.name}. ` : '';
    stage.caption.replaceChildren(H.make('b', {}, head), H.sentence(side));
    stage.canvas.parentElement.classList.toggle('focus', H.sides.length > 1 && side.number === H.state.side);
  }
  const slider = H.$('scrub');
  slider.max = H.ticks.length - 1;
  slider.value = step;
  const unit = H.sides.length > 1 ? 'moment' : 'step';
  slider.setAttribute('aria-valuetext', step < 0 ? 'start' : `${unit} ${step}, ${H.seconds(H.clock())}`);
  H.$('where').textContent = step < 0 ? `start, ${H.count(H.ticks.length)} ${unit}s` : `${unit} ${step}${H.ticks.length > 1 ? ` of 0 to ${H.ticks.length - 1}` : ''}`;
  H.$('clock').textContent = `${H.seconds(H.clock())} of ${H.seconds(H.total())}`;
  H.$('play').setAttribute('aria-pressed', String(H.playing));
  H.$('play').textContent = H.playing ? 'Pause' : 'Play';
};

// ---- follow

H.paintFollow = () => {
  const side = H.sides[H.state.side];
  const { plan } = side;
  const { chunk, rank, group } = H.state;
  for (const [name, value] of [['chunk', chunk], ['rank', rank]]) {
    const field = H.$(`${name}field`);
    if (document.activeElement !== field) field.value = value < 0 ? '' : String(value);
  }
  H.$('groupline').hidden = plan.group_count < 2 || !plan.sends || plan.sends.scope !== 'all';
  H.$('groupfield').max = plan.group_count - 1;
  if (document.activeElement !== H.$('groupfield')) H.$('groupfield').value = String(group);
  H.$('followed').textContent = followed(side);
  H.$('clearfollow').hidden = chunk < 0 && rank < 0;
};

function followed(side) {
  const { chunk, rank } = H.state;
  const { plan, net } = side;
  const only = H.followable(plan);
  if (only && !only.length) return 'The page holds no sends to follow.';
  const parts = [];
  if (chunk >= 0) {
    const steps = H.journey(side, chunk);
    const owner = H.owner(plan, chunk);
    const whose = owner >= 0 ? (plan.reduces ? `, which rank ${owner} gets` : `, from rank ${owner}`) : '';
    if (!steps.length) parts.push(only ? `Chunk ${chunk} is not in the page; it holds ${only.join(', ')}.` : `Chunk ${chunk} is never sent.`);
    else if (steps.length <= 40) {
      const hops = steps.map(({ step, src, dst }) => `${step}: ${H.place(net, src)} to ${H.place(net, dst)}`);
      parts.push(`Chunk ${chunk}${whose}, by step: ${hops.join('; ')}.`);
    } else parts.push(`Chunk ${chunk}${whose}: ${H.count(steps.length)} sends in steps ${steps[0].step} to ${steps[steps.length - 1].step}.`);
  }
  if (rank >= 0) {
    const { moving: step } = H.now(side);
    const { sends } = plan;
    const me = side.vertexOf(H.state.group, rank);
    const rows = step >= 0 && sends ? H.ofRank(side, step, rank) : [];
    const out = rows.filter((r) => sends.src[r] === me).length;
    parts.push(`Rank ${rank}, chip ${H.place(net, me)}: ${step < 0 ? 'nothing moves' : `sends ${out} (solid), receives ${rows.length - out} (dashed) in step ${step}`}.`);
  }
  if (!parts.length) return only ? `Chunks that can be followed: ${only.join(', ')}.` : 'A column of the matrix, a bar of the lanes or a number follows a chunk.';
  return parts.join(' ');
}

// The next chunk that can be followed, up or down; past the ends: none.
H.nextChunk = (by) => {
  const { plan } = H.sides[H.state.side];
  const only = H.followable(plan);
  const list = only || null;
  if (list && !list.length) return;
  const last = list ? list.length - 1 : plan.chunks - 1;
  const now = H.state.chunk < 0 ? -1 : list ? list.indexOf(H.state.chunk) : H.state.chunk;
  const next = now + by < -1 ? last : now + by > last ? -1 : now + by;
  H.set({ chunk: next < 0 ? -1 : list ? list[next] : next }, 'follow');
};

H.nextRank = (by) => {
  const { plan } = H.sides[H.state.side];
  const next = H.state.rank + by;
  H.set({ rank: next < -1 ? plan.ranks - 1 : next >= plan.ranks ? -1 : next }, 'follow');
};

// ---- what is under the pointer or chosen by keys

H.paintPick = () => {
  const side = H.sides[H.state.side];
  const { pick, link } = H.state;
  const lines = pick >= 0 || link >= 0 ? H.describe(side, { vertex: link >= 0 ? -1 : pick, link }) : null;
  H.$('pick').replaceChildren(...(lines || ['Click a chip or a link, or press . and , to go through the chips and ; for the links of one.']).map((t) => H.make('div', {}, t)));
};

// The next link that leaves the chosen chip.
H.nextLink = () => {
  const { net } = H.sides[H.state.side];
  if (H.state.pick < 0) return;
  const mine = Array.from(net.src.keys()).filter((l) => net.src[l] === H.state.pick);
  const next = mine.indexOf(H.state.link) + 1;
  H.set({ link: mine.length ? mine[next % mine.length] : -1 });
};

// ---- numbers

H.buildNumbers = () => {
  const labels = H.sides[0].lines.map(([name]) => name);
  const two = H.sides.length > 1;
  const value = (side, name) => {
    const [, text, , detail] = side.lines.find(([n]) => n === name) || [name, '-', '', ''];
    return [text, ...(detail ? [H.make('div', { class: 'help' }, detail)] : [])];
  };
  const heads = two ? [H.make('thead', {}, H.make('tr', {}, H.make('td'), ...H.sides.map((s) => H.make('th', { scope: 'col' }, `${'AB'[s.number]}: ${s.name}`))))] : [];
  const rows = labels.map((name, i) => H.make('tr', { title: H.sides[0].lines[i][2] },
    H.make('th', { scope: 'row' }, name),
    ...H.sides.map((s) => H.make('td', {}, ...value(s, name)))));
  H.$('numbers').replaceChildren(H.make('table', {}, ...heads, H.make('tbody', {}, ...rows)));
};

H.paintWords = () => {
  const side = H.sides[H.state.side];
  H.$('formula').replaceChildren(...side.formula.map((line) => H.make('div', {}, line)));
  H.$('formulapanel').hidden = !side.formula.length;
  H.$('findings').replaceChildren(...side.findings.map((f) => H.make('li', {},
    H.make('b', {}, f.code), ` ${f.text}`, ...(f.try ? [H.make('code', {}, f.try)] : []))));
  if (!side.findings.length) H.$('findings').replaceChildren(H.make('li', {}, 'None.'));
  H.$('idea').textContent = [side.idea, side.cost].filter(Boolean).join(' ');
  H.$('source').textContent = side.source ? `Source: ${side.source}.` : '';
  const notes = [...side.plan.notes, clockNote(side)];
  H.$('notes').replaceChildren(...notes.map((text) => H.make('li', {}, text)));
};

function clockNote({ plan }) {
  if (plan.clock === 'flows') return 'The clock is that of the simulation: no barriers, links shared max-min fairly. A step is over when its last send is received.';
  if (plan.clock === 'steps') return 'The clock has a barrier after each step: its longest route plus its busiest link.';
  return 'The clock divides the time of the formula evenly among the steps.';
}
