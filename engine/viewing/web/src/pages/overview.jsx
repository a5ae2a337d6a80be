/** What was gained, at what cost, and how to check it. */
import { Fragment, h } from "preact";
import { useState } from "preact/hooks";
import { Chart } from "../charts.jsx";
import { at, record, table } from "../data.js";
import { A, Command, Facts, Figures, Loading, Long, Section, Seq, Table, Verdict } from "../parts.jsx";
import { useTables, useView } from "../view.js";
import { count, decimal, dollars, number, percent, share, short, time, when, words } from "../words.js";

export function Overview() {
  const { index, seq, other } = useView();
  const { value, error } = useTables(index, "overview", "exams", "scores");
  const beside = useTables(other?.index ?? index, "overview");
  if (!value) return <Loading error={error} />;
  const rows = at(value.overview, seq);
  const now = rows.length ? record(value.overview, rows[rows.length - 1]) : null;
  const then = other && beside.value ? last(beside.value.overview, other.seq) : null;
  const exams = Array.from({ length: value.exams.rows }, (_, n) => n);
  return (
    <Fragment>
      <Certificate scores={value.scores} exams={exams.map((n) => record(value.exams, n))} now={now} />
      <Accuracy overview={value.overview} exams={value.exams} />
      <div class="columns">
        <Learned now={now} then={then} />
        <Happened />
      </div>
      <Iterations overview={value.overview} scores={value.scores} />
      <Exams exams={value.exams} rows={exams} />
      <Section title="Reproduce it" note="The line that began this run. The same models and seed give the same digests.">
        {index.command && <Command text={index.command} />}
        {index.head && <Command text={`mage-es verify ${index.run} --head ${index.head}`} />}
        <Settings />
      </Section>
    </Fragment>
  );
}

/** @param {import("../data.js").Table} overview @param {number} seq */
function last(overview, seq) {
  const rows = at(overview, seq);
  return rows.length ? record(overview, rows[rows.length - 1]) : null;
}

/** @param {{scores: import("../data.js").Table, exams: Record<string, any>[], now: Record<string, any> | null}} props */
function Certificate({ scores, exams, now }) {
  const { index, seq } = useView();
  const closed = exams.filter((exam) => exam.closed !== null && exam.closed <= seq && exam.total);
  const plain = closed.filter((exam) => exam.control === "none");
  const newest = plain.findLast((exam) => exam.marker !== "start");
  const first = plain.find((exam) => exam.marker === "start" && (!newest || exam.execution === newest.execution));
  const gain = first && newest && now && now.gain !== null ? now : null;
  return (
    <section class="certificate" aria-label="Certificate">
      {gain && first && newest ? (
        <p class="claim">
          <span class="num">{share(first.correct, first.total, 0)}</span>
          <span class="arrow" aria-label="to">→</span>
          <span class="num">{share(newest.correct, newest.total, 0)}</span>
          <span class="of">right on {number(newest.total, "question")} that it never saw</span>
        </p>
      ) : (
        <p class="claim small">
          <span class="of">
            {now?.anchor_total ? <Fragment><span class="num">{share(now.anchor_correct, now.anchor_total)}</span> right on {count(now.anchor_total)} anchors at this moment. </Fragment> : null}
            {index.kind === "baseline" ? <Fragment>{share(...answered(scores, seq))} right of {number(answered(scores, seq)[1], "question")}. A baseline learns nothing; it is what a run is measured against.</Fragment> : <Fragment>No gain is measured up to this moment: it takes an exam of the start and one of a later state.</Fragment>}
          </span>
        </p>
      )}
      {!gain && index.kind !== "baseline" && seq >= index.last && (
        <Fragment>
          {!first && <Command text={`mage-es exam ${index.run} --at start`} />}
          <Command text={`mage-es exam ${index.run}`} />
        </Fragment>
      )}
      <Figures
        figures={[
          { label: "Gain", value: gain ? `${gain.gain > 0 ? "+" : ""}${decimal(gain.gain, 1)} points` : "–", note: gain && first && newest ? <Fragment>95 %: {decimal(gain.low, 1)} to {decimal(gain.high, 1)}, p {gain.p < 0.001 ? "< 0.001" : `= ${decimal(gain.p, 3)}`}<br /><A to={{ page: "compare", query: { vs: first.marker, ea: newest.exam, eb: first.exam } }}>question by question</A></Fragment> : index.kind === "baseline" ? "a baseline has none" : "needs two exams" },
          { label: "Cost", value: now ? number(now.execution_calls + now.guidance_calls, "call") : "–", note: now ? `${count(now.guidance_calls)} of them guidance, ${dollars(now.usd)}` : "" },
          { label: "Guidance calls at inference", value: now && closed.length ? count(now.guidance_at_inference) : "–", note: closed.length ? `in ${number(closed.length, "exam")}` : "no exam so far", tone: now?.guidance_at_inference ? "bad" : "" },
          { label: "Guard", value: now?.guard ? <Verdict of={now.guard} /> : "–", note: now?.guard ? <A to={{ page: "guard" }}>the paired table</A> : "no verdict so far" },
        ]}
      />
      <Verified />
    </section>
  );
}

/** Right answers and all, whatever they were asked for. @param {import("../data.js").Table} scores @param {number} seq @returns {[number, number]} */
const answered = (scores, seq) => /** @type {[number, number]} */ (["correct", "total"].map((name) => at(scores, seq).reduce((sum, n) => sum + scores.col[name][n], 0)));

/** What `verify` says, when it is asked. */
function Verified() {
  const { index } = useView();
  const [state, set] = useState(/** @type {{busy?: boolean, error?: string, found?: Record<string, any>}} */ ({}));
  const ask = () => {
    set({ busy: true });
    table(index, "verify").then((t) => set({ found: record(t, 0) }), (error) => set({ error: String(error.message) }));
  };
  const { found } = state;
  if (!found)
    return (
      <p class="check">
        <button type="button" onClick={ask} disabled={state.busy}>{state.busy ? "Checking …" : "Verify"}</button>
        <span class="muted">{state.error || "Every byte, the chain, digests, splits, leaks and theorems, as mage-es verify checks them."}</span>
      </p>
    );
  const checks = /** @type {Record<string, any>[]} */ (found.checks);
  return (
    <div class="check" role="status">
      <p><Verdict of={found.ok ? "correct" : "wrong"} bare /> <bdi>{found.text}</bdi>{found.leaks !== null && `, ${number(found.leaks, "leak")}`}</p>
      {found.findings.length > 0 && <ul>{found.findings.map((/** @type {string} */ one, /** @type {number} */ n) => <li key={n}><bdi>{one}</bdi></li>)}</ul>}
      <details open={!found.ok}>
        <summary>{number(checks.length, "check")}</summary>
        <Table label="Checks" rows={checks.map((_, n) => n)} columns={[
          { name: "check", cell: (n) => <span class="verdict"><Verdict of={checks[n].ok ? "correct" : "wrong"} bare />{checks[n].name}</span> },
          { name: "measured", cell: (n) => <bdi>{checks[n].measured || "–"}</bdi> },
          { name: "bound", cell: (n) => <bdi>{checks[n].bound || "–"}</bdi> },
          { name: "what", class: "grow", cell: (n) => <bdi title={checks[n].detail}>{checks[n].detail}</bdi> },
          { name: "broken at", class: "num", cell: (n) => <Seq seq={checks[n].seq} /> },
        ]} />
      </details>
    </div>
  );
}

/** Anchors and exams over iterations. @param {{overview: import("../data.js").Table, exams: import("../data.js").Table}} props */
function Accuracy({ overview, exams }) {
  const { index, seq } = useView();
  /** @type {Map<number, {anchor: number | null, fresh: number | null, exam: number | null}>} */
  const points = new Map();
  const point = (/** @type {number} */ iteration) => points.get(iteration) ?? points.set(iteration, { anchor: null, fresh: null, exam: null }).get(iteration);
  const c = overview.col;
  for (let n = 0; n < overview.rows; n++)
    if (c.from[n] <= seq) {
      if (c.anchor_total[n]) Object.assign(point(c.anchor_iteration[n]) ?? {}, { anchor: c.anchor_correct[n] / c.anchor_total[n] });
      else if (c.fresh_total[n]) Object.assign(point(c.iteration[n]) ?? {}, { fresh: c.fresh_correct[n] / c.fresh_total[n] });
    }
  const e = exams.col;
  const latest = Math.max(-1, ...index.markers.map((marker) => marker.iteration ?? -1));
  for (let n = 0; n < exams.rows; n++) {
    if (e.closed[n] === null || e.closed[n] > seq || !e.total[n] || e.control[n] !== "none") continue;
    const marker = index.markers.find((one) => one.name === e.marker[n]);
    Object.assign(point(e.marker[n] === "latest" ? latest : (marker?.iteration ?? -1)) ?? {}, { exam: e.correct[n] / e.total[n] });
  }
  const x = [...points.keys()].sort((p, q) => p - q);
  if (x.length < 2) return null;
  const back = index.marks.filter((mark) => mark.kind === "rollback" && mark.seq <= seq).map((mark) => ({ x: index.markers.find((marker) => marker.seq >= mark.seq && !marker.phase)?.iteration ?? latest, colour: "bad", label: "↶ rolled back" }));
  const spots = x.map((iteration) => points.get(iteration));
  const anchored = spots.some((spot) => spot?.anchor !== null);
  const lines = [{ label: anchored ? "anchors" : "fresh questions", colour: "accent", y: spots.map((spot) => (anchored ? spot?.anchor : spot?.fresh) ?? null) }];
  if (spots.some((spot) => spot?.exam !== null)) lines.push(/** @type {any} */ ({ label: "exams", colour: "second", y: spots.map((spot) => spot?.exam ?? null), bare: true }));
  return (
    <Section title="Right answers" note={`${anchored ? "Anchors are the same questions after each iteration" : "Fresh questions are others in each iteration"}; exams ask questions that the learner never saw.`}>
      <Chart x={x} lines={lines} rules={back} label={`Right answers by iteration: ${spots.map((spot, n) => `${when(x[n])} ${percent(anchored ? spot?.anchor : spot?.fresh)}`).join(", ")}`} format={(v) => percent(v, 0)} name={(v) => (v < 0 ? "start" : String(v))} range={[0, 1]} />
    </Section>
  );
}

/** @param {{now: Record<string, any> | null, then: Record<string, any> | null}} props */
function Learned({ now, then }) {
  const { other } = useView();
  if (!now) return null;
  const rows = /** @type {[string, string, string][]} */ ([["Memories in use", "memories", "memories"], ["In quarantine", "quarantined", "memories"], ["Nodes of the graph", "nodes", "graph"], ["Edges of the graph", "edges", "graph"]]);
  return (
    <Section title="What it holds">
      <table class="plain">
        {other && then && <thead><tr><th /><th scope="col" class="num">A</th><th scope="col" class="num">B</th></tr></thead>}
        <tbody>
          {rows.map(([title, key, page]) => (
            <tr key={key}>
              <th scope="row"><A to={{ page, query: key === "quarantined" ? { status: "quarantined" } : {} }}>{title}</A></th>
              <td class="num">{count(now[key])}</td>
              {other && then && <td class="num">{count(then[key])}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </Section>
  );
}

function Happened() {
  const { index, seq } = useView();
  const marks = index.marks.filter((mark) => mark.seq <= seq);
  return (
    <Section title="What happened" note={marks.length > 12 ? `The newest 12 of ${count(marks.length)}.` : undefined}>
      {marks.length ? (
        <ul class="happened">
          {marks.slice(-12).reverse().map((mark, n) => <li key={n}><Seq seq={mark.seq} /> <span><strong>{mark.kind}</strong> <bdi>{mark.text}</bdi></span></li>)}
        </ul>
      ) : (
        <p class="muted">No exam, rollback, quarantine or split up to this moment.</p>
      )}
    </Section>
  );
}

/** @param {{overview: import("../data.js").Table, scores: import("../data.js").Table}} props */
function Iterations({ overview, scores }) {
  const { seq } = useView();
  /** @type {Map<number, {n: number, fresh: [number, number], revisit: [number, number]}>} */
  const closed = new Map();
  const c = overview.col;
  for (let n = 0; n < overview.rows; n++) if (c.from[n] <= seq && c.iteration[n] >= -1) closed.set(c.iteration[n], { n, fresh: [0, 0], revisit: [0, 0] });
  const s = scores.col;
  for (const n of at(scores, seq)) {
    const purpose = /** @type {"fresh" | "revisit"} */ (s.purpose[n]);
    const line = closed.get(s.iteration[n] ?? -1);
    if (line && line[purpose]) line[purpose] = [s.correct[n], s.total[n]];
  }
  const iterations = [...closed.keys()].sort((a, b) => a - b);
  if (!iterations.length) return null;
  const pair = (/** @type {[number, number]} */ [right, all]) => (all ? <Fragment><span class="muted">{right}/{all}</span> {share(right, all)}</Fragment> : "–");
  const of = (/** @type {number} */ k) => /** @type {NonNullable<ReturnType<typeof closed.get>>} */ (closed.get(iterations[k]));
  return (
    <Section title="Iteration by iteration">
      <Long
        label="Iterations"
        rows={iterations.map((_, k) => k)}
        columns={[
          { name: "iteration", cell: (k) => <A to={{ query: { at: when(iterations[k]) } }}>{when(iterations[k])}</A> },
          { name: "fresh", class: "num", cell: (k) => pair(of(k).fresh) },
          { name: "revisits", class: "num", cell: (k) => pair(of(k).revisit) },
          { name: "anchors", class: "num", cell: (k) => pair(c.anchor_iteration[of(k).n] === iterations[k] ? [c.anchor_correct[of(k).n], c.anchor_total[of(k).n]] : [0, 0]) },
          { name: "guard", cell: (k) => (c.guard[of(k).n] && c.anchor_iteration[of(k).n] === iterations[k] ? <Verdict of={c.guard[of(k).n]} /> : "–") },
          { name: "memories", class: "num", cell: (k) => count(c.memories[of(k).n]) },
          { name: "quarantined", class: "num", cell: (k) => count(c.quarantined[of(k).n]) },
          { name: "calls", title: "calls so far", class: "num", cell: (k) => count(c.execution_calls[of(k).n] + c.guidance_calls[of(k).n]) },
          { name: "guidance", title: "of them guidance", class: "num", cell: (k) => count(c.guidance_calls[of(k).n]) },
        ]}
      />
    </Section>
  );
}

/** @param {{exams: import("../data.js").Table, rows: number[]}} props */
function Exams({ exams, rows }) {
  const { seq } = useView();
  const e = exams.col;
  const shown = rows.filter((n) => e.from[n] <= seq);
  if (!shown.length) return null;
  return (
    <Section title="Exams">
      <Table
        label="Exams"
        rows={shown}
        columns={[
          { name: "exam", cell: (n) => <A to={{ page: "questions", id: "", query: { exam: e.exam[n] } }}>{e.exam[n]}</A> },
          { name: "of the state at", cell: (n) => e.marker[n] },
          { name: "control", cell: (n) => e.control[n] },
          { name: "right", class: "num", cell: (n) => (e.total[n] ? <Fragment><span class="muted">{e.correct[n]}/{e.total[n]}</span> {share(e.correct[n], e.total[n])}</Fragment> : "–") },
          { name: "95 %", class: "num", cell: (n) => (e.low[n] === null ? "–" : `${percent(e.low[n])} to ${percent(e.high[n])}`) },
          { name: "unanswered", class: "num", cell: (n) => count(e.unanswered[n]) },
          { name: "guidance calls", class: "num", cell: (n) => count(e.guidance_calls[n]) },
          { name: "answered by", cell: (n) => <bdi>{e.execution[n]}</bdi> },
          { name: "opened at", class: "num", cell: (n) => <Seq seq={e.from[n]} /> },
        ]}
      />
      {shown.filter((n) => e.problem[n]).map((n) => <p key={n} class="problem">{e.exam[n]}: {e.problem[n]}</p>)}
    </Section>
  );
}

function Settings() {
  const { index } = useView();
  return (
    <details>
      <summary>Models, settings and where it is</summary>
      <Facts
        rows={[
          ...Object.entries(index.models).filter(([, model]) => model).map(([tier, model]) => [`${tier} model`, <bdi>{model}</bdi>]),
          ["folder", <bdi>{index.path}</bdi>], ["written", `${time(index.began_us)} to ${time(index.ended_us)} UTC`], ["head", <code>{index.head}</code>],
          ...(index.parent ? [["learned before", index.parent]] : []),
          ["read by", `mage-es ${index.version}`],
        ]}
      />
      <Facts class="settings" rows={Object.entries(index.config).map(([name, setting]) => [words(name), <bdi>{typeof setting === "string" ? setting : JSON.stringify(setting)}</bdi>])} />
    </details>
  );
}
