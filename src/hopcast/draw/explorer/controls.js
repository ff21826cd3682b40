// Controls of a served page: they ask the server that gave it, and put the answer in the place of what is shown.

const choices = JSON.parse(H.$('choices').textContent);
const WORDS = ['collective', 'cluster', 'size', 'over', 'algorithm', 'compare'];
const CABLES = ['slow', 'dead'];
const USUAL = { algorithm: 'auto' };
const KEPT = ['theme', 'speed', 'table', 'labels']; // of the state, where another answer comes

let running = null; // what takes the question back that is being answered
let shown = null; // the question that the page answers
let first = null; // the question that the page was given with

// ---- the fields

function fillChoices() {
  H.$('askcollective').replaceChildren(...choices.collectives.map((name) => H.make('option', {}, name)));
  H.$('askfamily').replaceChildren(...choices.families.map(({ name, what }) => H.make('option', { title: what }, name)));
}

function fillAlgorithms() {
  const collective = H.$('askcollective').value;
  const fitting = choices.algorithms.filter((a) => a.collectives.includes(collective)).map((a) => a.name);
  H.$('algorithms').replaceChildren(...['auto', 'best', ...fitting].map((value) => H.make('option', { value })));
}

function fillAxes() {
  const names = H.sides[0].net.axes.map((a) => a.name);
  const all = names.length > 1 ? [...names, names.join(',')] : names;
  H.$('axes').replaceChildren(...all.map((value) => H.make('option', { value })));
}

// The cables in a field, and back.
const cables = (text) => text.split(';').map((c) => c.trim()).filter(Boolean);

function fill(question) {
  const [family, ...shape] = question.cluster.split(':');
  if (choices.families.every((f) => f.name !== family)) {
    // A type such as v5litepod-16 names its shape itself.
    H.$('askfamily').append(H.make('option', {}, family));
  }
  H.$('askfamily').value = family;
  H.$('askshape').value = shape.join(':');
  for (const name of ['collective', 'size', 'over', 'compare']) H.$(`ask${name}`).value = question[name];
  H.$('askalgorithm').value = question.algorithm === 'auto' ? '' : question.algorithm;
  for (const name of CABLES) H.$(`ask${name}`).value = question[name].join('; ');
  fillAlgorithms();
}

function read() {
  const value = (name) => H.$(`ask${name}`).value.trim();
  return {
    collective: value('collective'),
    cluster: value('family') + (value('shape') ? `:${value('shape')}` : ''),
    size: value('size'),
    over: value('over'),
    algorithm: value('algorithm') || 'auto',
    compare: value('compare'),
    slow: cables(value('slow')),
    dead: cables(value('dead')),
  };
}

// Another family begins with a shape that it has.
function changeFamily() {
  const found = choices.families.find((f) => f.name === H.$('askfamily').value);
  if (found) H.$('askshape').value = found.shape;
  for (const name of ['over', ...CABLES]) H.$(`ask${name}`).value = '';
}

// The cable of the chosen link, in the words of --slow and --dead; only chips have names there.
function chosenCable() {
  const { net } = H.sides[H.state.side];
  const { link } = H.state;
  if (link < 0 || Math.max(net.src[link], net.dst[link]) >= net.chips) return '';
  return `${H.place(net, net.src[link])}:${H.place(net, net.dst[link])}`;
}

function paintCables() {
  const cable = chosenCable();
  for (const id of ['slowlink', 'deadlink']) {
    H.$(id).disabled = !cable;
    H.$(id).title = cable ? `${id === 'slowlink' ? 'slow' : 'cut'} ${cable}` : 'choose a link between two chips in the picture, then add it here';
  }
}

function addCable(name, part) {
  const field = H.$(`ask${name}`);
  field.value = [...cables(field.value), chosenCable() + part].join('; ');
}

// ---- the address: it holds the question, so that it can be reloaded and kept

function search(question) {
  const parts = new URLSearchParams();
  for (const name of WORDS) if (question[name] !== (USUAL[name] || '')) parts.set(name, question[name]);
  for (const name of CABLES) for (const cable of question[name]) parts.append(name, cable);
  return `?${parts}`;
}

function questionIn(address) {
  const parts = new URLSearchParams(address);
  const question = { ...first };
  for (const name of WORDS) question[name] = parts.get(name) || (name === 'over' || name === 'compare' ? '' : USUAL[name] || first[name]);
  for (const name of CABLES) question[name] = parts.getAll(name);
  return question;
}

// ---- asking

function say(text, wrong = false) {
  H.$('said').textContent = wrong ? `error: ${text}` : text;
  H.$('said').classList.toggle('wrong', wrong);
  H.$('said').hidden = !text;
}

const sayNotes = (warnings) => say(warnings.map((w) => `note: ${w}`).join('. '));

function busy(on) {
  H.$('cancel').hidden = !on;
  H.$('progress').hidden = !on;
  H.$('progress').removeAttribute('value');
  H.$('progress').max = choices.limit;
  for (const id of ['left', 'right']) H.$(id).classList.toggle('old', on);
}

function sayProgress({ say: what, seconds }) {
  say(seconds > 0 ? `${what}: ${seconds.toFixed(1)} s, of ${H.seconds(choices.limit)} at most` : `${what} ...`);
  if (seconds > 0) H.$('progress').value = seconds;
}

// Lines of JSON as they come; gives the last one.
async function events(body, act) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  let last = null;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return last;
    const lines = (rest + value).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      last = JSON.parse(line);
      if (last.say) act(last);
    }
  }
}

async function answerTo(question, signal) {
  const answer = await fetch('ask', {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(question), signal,
  });
  if (!answer.ok) return answer.json();
  return events(answer.body, (event) => { if (!signal.aborted) sayProgress(event); });
}

async function put(data, remember) {
  H.stop();
  const kept = new URLSearchParams();
  for (const name of KEPT) if (H.state[name] !== H.defaults[name]) kept.set(name, H.state[name]);
  shown = data.asked;
  const address = search(shown) + (remember ? (kept.size ? `#${kept}` : '') : location.hash);
  history[remember ? 'pushState' : 'replaceState'](null, '', address);
  await H.show(data);
  document.title = data.title;
  document.querySelector('h1').textContent = data.title;
  fill(shown);
  fillAxes();
  sayNotes(data.warnings);
}

async function ask(question, remember = true) {
  if (running) running.abort();
  const mine = new AbortController();
  running = mine;
  busy(true);
  say('asking ...');
  try {
    const found = await answerTo(question, mine.signal);
    if (mine.signal.aborted) return;
    if (found && found.data) await put(found.data, remember);
    else say(found && found.error ? found.error : 'the server broke off; is hopcast serve still running?', true);
  } catch (e) {
    if (mine.signal.aborted) return;
    say(e instanceof TypeError ? 'the server does not answer; is hopcast serve still running?' : String(e), true);
  } finally {
    if (running === mine) {
      running = null;
      busy(false);
    }
  }
}

function cancel() {
  if (!running) return;
  running.abort();
  running = null;
  busy(false);
  say('cancelled; the page shows the answer before');
  H.$('show').focus();
}

// ---- start

async function start() {
  fillChoices();
  if (matchMedia('(max-width: 900px)').matches) H.$('question').open = false;
  await H.started;
  const { asked, warnings } = JSON.parse(H.$('data').textContent);
  first = asked;
  shown = asked;
  fill(first);
  fillAxes();
  sayNotes(warnings);
  H.on('all', paintCables);
  paintCables();
  H.$('ask').addEventListener('submit', (e) => {
    e.preventDefault();
    ask(read());
  });
  H.$('cancel').addEventListener('click', cancel);
  H.$('askcollective').addEventListener('change', fillAlgorithms);
  H.$('askfamily').addEventListener('change', changeFamily);
  H.$('slowlink').addEventListener('click', () => addCable('slow', '=0.5'));
  H.$('deadlink').addEventListener('click', () => addCable('dead', ''));
  addEventListener('popstate', () => {
    // A change of the hash is a change of the state, which the page itself follows.
    const question = questionIn(location.search);
    if (search(question) !== search(shown)) ask(question, false);
  });
  if (location.search) {
    const question = questionIn(location.search);
    fill(question);
    ask(question, false);
  }
}

window.hopcast.asking = () => running !== null;
start();
