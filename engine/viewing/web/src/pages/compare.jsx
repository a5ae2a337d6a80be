/** Two moments of a run, or two runs: what differs, question by question and memory by memory. */
import { Fragment, h } from "preact";
import { byQuestion, newest } from "../asked.js";
import { at, record } from "../data.js";
import { named, written } from "../address.js";
import { A, Choice, Empty, Loading, Long, Scroll, Section, Table, Verdict } from "../parts.jsx";
import { compare } from "../scrubber.jsx";
import { useRow, useTables, useView } from "../view.js";
import { count, decimal, dollars, number, short, visible, words } from "../words.js";
import { statesAt } from "./memories.jsx";
import { Changes, calls, told, whole } from "./question.jsx";

/** @typedef {import("./question.jsx").Answer} Answer */
/** @typedef {{index: import("../data.js").Index, seq: number, t: Record<string, import("../data.js").Table>, exam: string}} Side */

export function Compare() {
  const view = useView();
  const { index, seq, other, runs, address } = view;
  const names = ["overview", "questions", "askings", "exams", "memories", "memory_states"];
  const one = useTables(index, ...names);
  const two = useTables(other?.index ?? index, ...names);
  const pick = (
    <div class="filters">
      <label class="field">
        <span>B is a moment of</span>
        <select value={other && other.index !== index ? other.index.run : index.run} onChange={(e) => view.go({ query: { with: e.currentTarget.value === index.run ? "" : e.currentTarget.value, vs: e.currentTarget.value === index.run ? (index.markers[0]?.name ?? "") : "", ask: "" } })}>
          {runs.map((run) => <option key={run.run} value={run.run}>{run.run}{run.run === index.run ? " (this run)" : ""}</option>)}
        </select>
      </label>
      {other && other.index !== index && (
        <label class="field">
          <span>at its moment</span>
          <select value={named(other.index, other.seq)} onChange={(e) => view.go({ query: { vs: e.currentTarget.value } }, true)}>
            {other.index.markers.map((marker) => <option key={marker.name} value={marker.name}>{written(marker.name)}</option>)}
            <option value="latest">latest</option>
          </select>
        </label>
      )}
      {one.value && two.value && other && <Exams name="ea" label="A answers" exams={one.value.exams} value={address.query.ea ?? ""} />}
      {one.value && two.value && other && <Exams name="eb" label="B answers" exams={two.value.exams} value={address.query.eb ?? ""} />}
    </div>
  );
  if (!other)
    return (
      <Section title="Compare">
        {pick}
        <Empty title="Nothing to compare yet">
          <button type="button" onClick={() => compare(view)}>Compare with another moment</button>, or choose another run above. Then two handles lie on the bar below, A and B.
        </Empty>
      </Section>
    );
  if (!one.value || !two.value) return <Loading error={one.error || two.error} />;
  const a = { index, seq, t: one.value, exam: address.query.ea ?? "" };
  const b = { index: other.index, seq: other.seq, t: two.value, exam: address.query.eb ?? "" };
  return (
    <Fragment>
      <Section title="Compare" note={`A is ${index.run} at ${written(named(index, seq))}. B is ${other.index.run} at ${written(named(other.index, other.seq))}.`}>
        {pick}
        <Sizes a={a} b={b} />
      </Section>
      {a.index !== b.index && <Settings a={a.index} b={b.index} />}
      <Flips a={a} b={b} />
      <Learned a={a} b={b} />
    </Fragment>
  );
}

/** @param {{name: string, label: string, exams: import("../data.js").Table, value: string}} props */
function Exams({ name, label, exams, value }) {
  if (!exams.rows) return null;
  return <Choice name={name} label={label} value={value} choices={[["", "as asked in the run"], ...exams.col.exam.map((exam) => /** @type {[string, string]} */ ([exam, `exam ${exam}`]))]} />;
}

/** @param {{a: Side, b: Side}} props */
function Sizes({ a, b }) {
  const [x, y] = [a, b].map(({ t, seq }) => {
    const rows = at(t.overview, seq);
    return rows.length ? record(t.overview, rows[rows.length - 1]) : {};
  });
  const lines = /** @type {[string, (r: Record<string, any>) => number | null, ((v: number) => string)?][]} */ ([
    ["anchors right", (r) => (r.anchor_total ? r.anchor_correct / r.anchor_total : null), (v) => `${(100 * v).toFixed(1)} %`],
    ["memories in use", (r) => r.memories], ["in quarantine", (r) => r.quarantined], ["nodes", (r) => r.nodes], ["edges", (r) => r.edges],
    ["execution calls", (r) => r.execution_calls], ["guidance calls", (r) => r.guidance_calls], ["dollars", (r) => r.usd, dollars],
  ]);
  return (
    <Table label="Both sides" narrow rows={lines.map((_, n) => n)} columns={[
      { name: "what", title: "", cell: (n) => lines[n][0] },
      { name: "A", class: "num", cell: (n) => shown(lines[n][1](x), lines[n][2]) },
      { name: "B", class: "num", cell: (n) => shown(lines[n][1](y), lines[n][2]) },
      { name: "A − B", class: "num", cell: (n) => {
        const [p, q] = [lines[n][1](x), lines[n][1](y)];
        if (p === null || q === null || p === undefined || q === undefined) return "–";
        const d = p - q;
        return d === 0 ? "0" : `${d > 0 ? "+" : "−"}${lines[n][0] === "anchors right" ? `${Math.abs(100 * d).toFixed(1)} points` : (lines[n][2] ?? count)(Math.abs(d))}`;
      } },
    ]} />
  );
}

/** @param {number | null | undefined} v @param {((v: number) => string)} [format] */
const shown = (v, format = count) => (v === null || v === undefined ? "–" : format(v));

/** @param {{a: import("../data.js").Index, b: import("../data.js").Index}} props */
function Settings({ a, b }) {
  const text = (/** @type {any} */ v) => (v === undefined || v === null ? "–" : typeof v === "string" ? v : JSON.stringify(v));
  const [p, q] = [a, b].map((index) => ({ benchmark: index.benchmark, ...Object.fromEntries(Object.entries(index.models).map(([tier, model]) => [`${tier} model`, model])), ...index.config }));
  const differ = [...new Set([...Object.keys(p), ...Object.keys(q)])].filter((name) => text(/** @type {any} */ (p)[name]) !== text(/** @type {any} */ (q)[name]));
  return (
    <Section title="Settings that differ">
      {differ.length ? (
        <Table label="Settings that differ" narrow rows={differ.map((_, n) => n)} columns={[
          { name: "setting", cell: (n) => words(differ[n]) }, { name: "A", cell: (n) => <bdi>{text(/** @type {any} */ (p)[differ[n]])}</bdi> }, { name: "B", cell: (n) => <bdi>{text(/** @type {any} */ (q)[differ[n]])}</bdi> },
        ]} />
      ) : <p class="muted">None: both runs have the same settings.</p>}
    </Section>
  );
}

/** Two-sided exact sign test. @param {number} better @param {number} worse */
export function signTest(better, worse) {
  const n = better + worse;
  if (!n) return 1;
  let term = -n * Math.LN2;
  let tail = 0;
  for (let k = 0; k <= Math.min(better, worse); k++) {
    tail += Math.exp(term);
    term += Math.log((n - k) / (k + 1));
  }
  return Math.min(1, 2 * tail);
}

/** @param {{a: Side, b: Side}} props */
function Flips({ a, b }) {
  const { address } = useView();
  const [left, right] = [a, b].map(({ t, seq, exam }) => {
    const row = exam ? t.exams.col.exam.indexOf(exam) : undefined;
    const found = new Map();
    for (const [question, list] of byQuestion(t.askings)) {
      const n = newest(t.askings, list, exam ? Infinity : seq, row);
      if (n >= 0) found.set(t.questions.col.id[question], { n, question, verdict: t.askings.col.verdict[n] });
    }
    return found;
  });
  const paired = [...left.keys()].filter((id) => right.has(id));
  if (!paired.length)
    return <Section title="Answers, in pairs"><Empty title="No question was answered on both sides">Each side needs answers to the same questions: move the handles, or choose exams above.</Empty></Section>;
  const ok = (/** @type {Map<string, any>} */ side, /** @type {string} */ id) => side.get(id).verdict === "correct";
  const cells = [0, 0, 0, 0];
  for (const id of paired) cells[(ok(left, id) ? 0 : 1) + (ok(right, id) ? 0 : 2)]++;
  const [both, onlyB, onlyA, neither] = cells;
  const differ = paired.filter((id) => left.get(id).verdict !== right.get(id).verdict).sort((p, q) => Number(ok(left, q)) - Number(ok(left, p)));
  const asked = address.query.ask && paired.includes(address.query.ask) ? address.query.ask : "";
  const p = signTest(onlyA, onlyB);
  return (
    <Section title="Answers, in pairs" note={`${number(paired.length, "question")} answered on both sides, each by its newest answer. Only ${number(onlyA + onlyB, "question")} differ${onlyA + onlyB === 1 ? "s" : ""}: two-sided exact sign test, p ${p < 0.001 ? "< 0.001" : `= ${decimal(p, 3)}`}.`}>
      <table class="plain pairs">
        <caption>Questions by verdict at A and B</caption>
        <thead><tr><td /><th scope="col" class="num">right at B</th><th scope="col" class="num">not right at B</th></tr></thead>
        <tbody>
          <tr><th scope="row">right at A</th><td class="num">{count(both)}</td><td class="num good"><strong>{count(onlyA)}</strong> only A</td></tr>
          <tr><th scope="row">not right at A</th><td class="num bad"><strong>{count(onlyB)}</strong> only B</td><td class="num">{count(neither)}</td></tr>
        </tbody>
      </table>
      {differ.length > 0 && (
        <Long label="Questions that differ" height={360} selected={asked ? differ.indexOf(asked) : null} rows={differ.map((_, n) => n)} columns={[
          { name: "A", class: "narrow", cell: (n) => <Verdict of={left.get(differ[n]).verdict} /> },
          { name: "B", class: "narrow", cell: (n) => <Verdict of={right.get(differ[n]).verdict} /> },
          { name: "question", class: "grow", cell: (n) => <A to={{ query: { ask: differ[n] } }}><bdi>{a.t.questions.col.title[left.get(differ[n]).question] || differ[n]}</bdi></A> },
          { name: "asked at A", cell: (n) => told(a.t.askings, a.t.exams, left.get(differ[n]).n) },
          { name: "asked at B", cell: (n) => told(b.t.askings, b.t.exams, right.get(differ[n]).n) },
          { name: "page", title: "", cell: (n) => <A to={{ page: "questions", id: differ[n] }} label={`its page: ${differ[n]}`}>its page</A> },
        ]} />
      )}
      {asked ? <Beside a={a} b={b} left={left.get(asked).n} right={right.get(asked).n} id={asked} /> : differ.length > 0 && <p class="note">Choose a question to see both prompts.</p>}
    </Section>
  );
}

/** Both prompts of one question. @param {{a: Side, b: Side, left: number, right: number, id: string}} props */
function Beside({ a, b, left, right, id }) {
  const one = useRow(a.index, "answers", left);
  const two = useRow(b.index, "answers", right);
  if (!one.value || !two.value) return <Loading error={one.error || two.error} />;
  const was = /** @type {Answer} */ ({ ...record(b.t.askings, right), ...two.value });
  const is = /** @type {Answer} */ ({ ...record(a.t.askings, left), ...one.value });
  const texts = [was, is].map((answer) => whole(answer));
  const names = /** @type {[string, string]} */ ([`B: ${told(b.t.askings, b.t.exams, right)}`, `A: ${told(a.t.askings, a.t.exams, left)}`]);
  const column = (/** @type {Answer} */ answer, /** @type {string} */ name, /** @type {string} */ text) => (
    <div>
      <h3>{name}: <Verdict of={answer.verdict} /></h3>
      <Scroll label={`Prompt, ${name}`} class="tall"><pre class="text" dir="auto">{visible(text)}</pre></Scroll>
      <h3>Reply</h3>
      <pre class="text" dir="auto">{visible(calls(answer).at(-1)?.reply || "(none)")}</pre>
    </div>
  );
  return (
    <Fragment>
      <h3 class="apart"><A to={{ page: "questions", id }}><bdi>{id}</bdi></A></h3>
      <div class="columns">{column(is, names[1], texts[1])}{column(was, names[0], texts[0])}</div>
      <Changes a={was} b={is} texts={texts} names={names} across={a.index !== b.index} />
    </Fragment>
  );
}

/** @param {{a: Side, b: Side}} props */
function Learned({ a, b }) {
  const [left, right] = [a, b].map(({ t, seq }) => {
    const found = new Map();
    for (const [n, state] of statesAt(t.memory_states, seq)) found.set(t.memories.col.id[n], { n, status: t.memory_states.col.status[state] });
    return found;
  });
  const rows = [...new Set([...left.keys(), ...right.keys()])].filter((id) => left.get(id)?.status !== right.get(id)?.status);
  const onlyA = rows.filter((id) => !right.has(id)).length;
  const onlyB = rows.filter((id) => !left.has(id)).length;
  const title = (/** @type {string} */ id) => (left.has(id) ? a.t.memories.col.title[left.get(id).n] : b.t.memories.col.title[right.get(id).n]) || short(id);
  const kind = (/** @type {string} */ id) => (left.has(id) ? a.t.memories.col.kind[left.get(id).n] : b.t.memories.col.kind[right.get(id).n]);
  const told_ = (/** @type {{status: string} | undefined} */ one) => (one ? <Verdict of={one.status} /> : <span class="muted">not there</span>);
  return (
    <Section title="Memories that differ" note={`${count(onlyA)} only at A, ${count(onlyB)} only at B, ${count(rows.length - onlyA - onlyB)} of another status.`}>
      {rows.length ? (
        <Long label="Memories that differ" height={360} rows={rows.map((_, n) => n)} columns={[
          { name: "A", class: "narrow", cell: (n) => told_(left.get(rows[n])) },
          { name: "B", class: "narrow", cell: (n) => told_(right.get(rows[n])) },
          { name: "memory", class: "grow", cell: (n) => (left.has(rows[n]) || a.index === b.index ? <A to={{ page: "memories", id: rows[n] }}><bdi>{title(rows[n])}</bdi></A> : <bdi>{title(rows[n])}</bdi>) },
          { name: "kind", cell: (n) => words(kind(rows[n])) },
        ]} />
      ) : <p class="muted">Both sides hold the same memories.</p>}
    </Section>
  );
}
