/** What was gained, at what cost, and how to check it. */
import { Fragment, h } from "preact";
import { useState } from "preact/hooks";
import { Chart } from "../charts";
import type { Line } from "../charts";
import { all, at, record, table } from "../data";
import type { Row, Table as Data, Tables } from "../data";
import { A, Seq, bdi, mark, muted, ratio, verdict } from "../marks";
import { Command, Facts, Figures, List, Log, Plain, Section, Table } from "../parts";
import { SIGNS } from "../scrubber";
import { useLoad, useTables, useView } from "../view";
import { chance, count, decimal, dollars, number, percent, share, time, when, words } from "../words";

export function Overview({ t }: { t: Tables }) {
  const { index, seq } = useView();
  return (
    <Fragment>
      <Certificate t={t} />
      <Accuracy overview={t.overview} exams={t.exams} />
      <div class="columns">
        <Section title="What it holds" children={<Sizes overview={t.overview} />} />
        <Happened />
      </div>
      <Iterations overview={t.overview} scores={t.scores} />
      <Exams exams={t.exams} rows={all(t.exams).filter((n) => t.exams.col.from[n] <= seq)} />
      <Section
        title="Reproduce it"
        note="The line that began this run. The same models and seed give the same digests.">
        {index.command && <Command text={index.command} />}
        {index.head && <Command text={`mage-es verify ${index.named} --head ${index.head}`} />}
        <Settings />
      </Section>
    </Fragment>
  );
}

/** The row of overview that holds at a moment. */
function rowAt(overview: Data, seq: number): Row {
  const last = at(overview, seq).at(-1);
  return last === undefined ? {} : record(overview, last);
}

const signed = (n: number) => `${n > 0 ? "+" : ""}${decimal(n, 1)}`;

function Certificate({ t }: { t: Tables }) {
  const { index, seq } = useView();
  const now = rowAt(t.overview, seq);
  const exams = all(t.exams).map((n) => record(t.exams, n));
  const closed = exams.filter((exam) => exam.closed !== null && exam.closed <= seq && exam.total);
  const plain = closed.filter((exam) => exam.control === "none");
  const newest = plain.findLast((exam) => exam.marker !== "start");
  const first = plain.find((exam) => exam.marker === "start" && (!newest || exam.execution === newest.execution));
  const pair = first && newest && now.gain != null ? { first, newest } : null;
  const shuffled = closed.findLast((exam) => exam.control !== "none" && exam.marker === newest?.marker);
  const none = { baseline: "a baseline has none", served: "mage-es gain measures it" }[index.kind as string];
  const gain: [string, any, any] = ["Gain", "–", none ?? "needs an exam before and after"];
  if (pair) {
    gain[1] = `${signed(now.gain)} points`;
    gain[2] = (
      <Fragment>
        {`95 %: ${decimal(now.low, 1)} to ${decimal(now.high, 1)}, ${chance(now.p)}`}
        <br />
        {shuffled
          ? `${share(shuffled.correct, shuffled.total, 0)} with shuffled memories`
          : "no exam with shuffled memories"}
        <br />
        <A
          to={{ page: "compare", query: { vs: pair.first.marker, ea: pair.newest.exam, eb: pair.first.exam } }}
          children="question by question"
        />
      </Fragment>
    );
  }
  const calls = (now.execution_calls ?? 0) + (now.guidance_calls ?? 0);
  const price = `${count(now.guidance_calls)} of them guidance, ${dollars(now.usd)}`;
  const asked = closed.length ? count(now.guidance_at_inference) : "–";
  const guard = now.guard ? <A to={{ page: "guard" }} children="the paired table" /> : "no verdict so far";
  return (
    <section class="certificate" aria-label="Certificate">
      {pair ? (
        <p class="claim">
          <span class="num">{share(pair.first.correct, pair.first.total, 0)}</span>
          <span class="arrow" aria-label="to" children="→" />
          <span class="num">{share(pair.newest.correct, pair.newest.total, 0)}</span>
          <span class="of">right on {number(pair.newest.total, "question")} that it never saw</span>
        </p>
      ) : (
        <Ungained now={now} scores={t.scores} first={first} later={exams.some((exam) => exam.from > seq)} />
      )}
      <Figures
        figures={[
          gain,
          ["Cost", number(calls, "call"), price],
          [
            "Guidance calls at inference",
            closed.length ? <A to={{ page: "cost" }} children={asked} /> : asked,
            closed.length ? `in ${number(closed.length, "exam")}` : "no exam so far",
          ],
          ["Guard", now.guard ? verdict(now.guard) : "–", guard],
        ]}
      />
      <Verified />
    </section>
  );
}

/** What can be said where no gain was measured, and what measures it. */
function Ungained(props: { now: Row; scores: Data; first?: Row; later: boolean }) {
  const { index, seq } = useView();
  const { now, scores, first, later } = props;
  const { correct = [], total = [] } = scores.col;
  const sum = (values: number[]) => at(scores, seq).reduce((before, n) => before + values[n], 0);
  const lines: string[] = [];
  if (now.anchor_total)
    lines.push(`${share(now.anchor_correct, now.anchor_total)} right on ${count(now.anchor_total)} anchors.`);
  if (index.kind === "baseline") {
    lines.push(`${share(sum(correct), sum(total))} right of ${number(sum(total), "question")}.`);
    lines.push("A baseline learns nothing; it is what a run is measured against.");
  } else if (index.kind === "served") {
    lines.push(`${number(index.counts.inferences ?? 0, "request")} served. What memories did to them:`);
  } else {
    lines.push(later ? "Its exams came later." : "The gain takes an exam of the start and one of a later state:");
  }
  const open = index.kind === "questions" || index.kind === "episodes";
  return (
    <Fragment>
      <p class="claim small">{lines.join(" ")}</p>
      {index.kind === "served" && <Command text={`mage-es gain ${index.named}`} />}
      {open && !later && !first && <Command text={`mage-es exam ${index.named} --at start`} />}
      {open && !later && <Command text={`mage-es exam ${index.named}`} />}
    </Fragment>
  );
}

/** What `verify` says when it is asked; a copy holds what it said when it was made. */
function Verified() {
  const { index } = useView();
  const [asked, ask] = useState(index.copy);
  const { value, error } = useLoad(async () => asked && record(await table(index, "verify"), 0), [index.run, asked]);
  const says = "Every byte, the chain, digests, splits, leaks and theorems, as mage-es verify checks them.";
  const found: Row | false | null = value;
  if (!found)
    return (
      <p class="check">
        <button type="button" onClick={() => ask(true)} disabled={asked} children={asked ? "Checking …" : "Verify"} />
        {muted(error || says)}
      </p>
    );
  const checks: Row[] = found.checks;
  return (
    <div class="check" role="status">
      <p>
        {mark(found.ok ? "correct" : "wrong")} {bdi(found.text)}
        {found.leaks !== null && `, ${number(found.leaks, "leak")}`}
        {index.copy && muted(" when this copy was made; check again with the second line of “Reproduce it” below.")}
      </p>
      <List kind="happened" items={found.findings.map(bdi)} />
      <details open={!found.ok}>
        <summary>{number(checks.length, "check")}</summary>
        <Table
          label="Checks"
          rows={[...checks.keys()]}
          columns={[
            ["", "", (n) => mark(checks[n].ok ? "correct" : "wrong")],
            ["check", "", (n) => checks[n].name],
            ["measured", "", (n) => bdi(checks[n].measured || "–")],
            ["bound", "", (n) => bdi(checks[n].bound || "–")],
            ["what", "wrap", (n) => bdi(checks[n].detail)],
            checks.some((one) => one.seq) && ["broken at", "num", (n) => <Seq seq={checks[n].seq} />],
          ]}
        />
      </details>
    </div>
  );
}

/** Anchors and exams over iterations. */
function Accuracy({ overview, exams }: { overview: Data; exams: Data }) {
  const { index, seq } = useView();
  const { col: c } = overview;
  const { col: e } = exams;
  const [anchors, fresh, examined] = [new Map(), new Map(), new Map()] as Map<number, number>[];
  for (let n = 0; n < overview.rows && c.from[n] <= seq; n++) {
    if (c.anchor_total[n]) anchors.set(c.anchor_iteration[n], c.anchor_correct[n] / c.anchor_total[n]);
    if (c.fresh_total[n]) fresh.set(c.iteration[n], c.fresh_correct[n] / c.fresh_total[n]);
  }
  const iterationOf = (marker: string) => index.markers.find((one) => one.name === marker)?.iteration ?? -1;
  const latest = Math.max(-1, ...index.markers.map((marker) => marker.iteration ?? -1));
  for (const n of all(exams))
    if (e.closed[n] !== null && e.closed[n] <= seq && e.total[n] && e.control[n] === "none")
      examined.set(e.marker[n] === "latest" ? latest : iterationOf(e.marker[n]), e.correct[n] / e.total[n]);
  const main = anchors.size ? anchors : fresh;
  const x = [...new Set([...main.keys(), ...examined.keys()])].sort((p, q) => p - q);
  if (x.length < 2) return null;
  const y = (points: Map<number, number>) => x.map((iteration) => points.get(iteration) ?? null);
  const lines: Line[] = [{ label: anchors.size ? "anchors" : "fresh questions", colour: "accent", y: y(main) }];
  if (examined.size) lines.push({ label: "exams", colour: "second", y: y(examined), bare: true });
  const back = index.marks.filter((one) => one.kind === "rollback" && one.seq <= seq);
  const undone = back.map((one) => index.markers.find((marker) => marker.seq >= one.seq && !marker.phase)?.iteration);
  if (back.length) {
    const rolled = x.map((iteration) => (undone.includes(iteration) ? (main.get(iteration) ?? null) : null));
    lines.push({ label: "rolled back by the guard", colour: "bad", y: rolled, bare: true });
  }
  const what = anchors.size ? "Anchors are the same questions after each iteration" : "Each iteration asks others";
  return (
    <Section title="Right answers" note={`${what}; exams ask questions that the learner never saw.`}>
      <Chart label="Right answers" x={x} lines={lines} format={(v) => percent(v, 0)} range={[0, 1]} />
    </Section>
  );
}

const SIZES: [title: string, page: string, value: (row: Row) => number | null, write?: (v: number) => string][] = [
  ["Memories in use", "memories", (row) => row.memories],
  ["Memories in quarantine", "memories", (row) => row.quarantined],
  ["Nodes of the graph", "graph", (row) => row.nodes],
  ["Edges of the graph", "graph", (row) => row.edges],
  ["Execution calls", "cost", (row) => row.execution_calls],
  ["Guidance calls", "cost", (row) => row.guidance_calls],
  ["Price", "cost", (row) => row.usd, dollars],
];

/** How much there is at this moment, beside the other. */
export function Sizes({ overview }: { overview: Data }) {
  const { index, seq, other } = useView();
  const beside = useTables(other?.index ?? index, "overview");
  const now = rowAt(overview, seq);
  const then = other && beside.value && rowAt(beside.value.overview, other.seq);
  const rows = SIZES.map(([title, page, value, write = count]) => {
    const [a, b] = [value(now) ?? null, then ? (value(then) ?? null) : null];
    const query = title.endsWith("quarantine") ? { status: "quarantined" } : undefined;
    const text = (v: number | null) => (v === null ? "–" : write(v));
    const less = a !== null && b !== null ? `${a > b ? "+" : a < b ? "−" : ""}${write(Math.abs(a - b))}` : "–";
    return [<A to={{ page, query }} children={title} />, text(a), ...(then ? [text(b), less] : [])];
  });
  return <Plain heads={then ? ["", "A", "B", "A − B"] : []} rows={rows} />;
}

function Happened() {
  const { index, seq } = useView();
  const marks = index.marks.filter((one) => one.seq <= seq);
  return (
    <Section title="What happened" note={marks.length > 12 ? `The newest 12 of ${count(marks.length)}.` : ""}>
      {!marks.length && <p class="muted">No exam, rollback, quarantine or split up to this moment.</p>}
      <Log
        rows={marks
          .slice(-12)
          .reverse()
          .map((one) => [one.seq, `${SIGNS[one.kind] ?? "·"} ${one.kind}`, one.text])}
      />
    </Section>
  );
}

function Iterations({ overview, scores }: { overview: Data; scores: Data }) {
  const { seq } = useView();
  const { col: c } = overview;
  const { col: s } = scores;
  const closed = new Map<number, number>(); // iteration: the row at its own marker, of an open one the newest
  for (let n = 0; n < overview.rows && c.from[n] <= seq; n++) {
    const [, at, k] = /^(start|iter-(\d+))/.exec(c.marker[n]) ?? [];
    if (at) closed.set(Number(k ?? -1), n);
  }
  const scored = new Map(at(scores, seq).map((n) => [`${s.iteration[n] ?? -1} ${s.purpose[n]}`, n]));
  const pair = (iteration: number, purpose: string) => {
    const n = scored.get(`${iteration} ${purpose}`);
    return n === undefined ? "–" : ratio(s.correct[n], s.total[n]);
  };
  const row = (iteration: number) => closed.get(iteration) as number;
  const anchored = (iteration: number) => c.anchor_iteration[row(iteration)] === iteration;
  if (!closed.size) return null;
  return (
    <Section title="Iteration by iteration">
      <Table
        label="Iterations"
        rows={[...closed.keys()].sort((p, q) => p - q)}
        columns={[
          ["iteration", "", (k) => <A to={{ query: { at: when(k) } }} children={when(k)} />],
          ["fresh", "num", (k) => pair(k, "fresh")],
          ["revisits", "num", (k) => pair(k, "revisit")],
          ["anchors", "num", (k) => (anchored(k) ? ratio(c.anchor_correct[row(k)], c.anchor_total[row(k)]) : "–")],
          ["guard", "", (k) => (c.guard[row(k)] && anchored(k) ? verdict(c.guard[row(k)]) : "–")],
          ["memories", "num", (k) => count(c.memories[row(k)])],
          ["quarantined", "num", (k) => count(c.quarantined[row(k)])],
          ["calls so far", "num", (k) => count(c.execution_calls[row(k)] + c.guidance_calls[row(k)])],
          ["of them guidance", "num", (k) => count(c.guidance_calls[row(k)])],
        ]}
      />
    </Section>
  );
}

function Exams({ exams, rows }: { exams: Data; rows: number[] }) {
  const { col: e } = exams;
  if (!rows.length) return null;
  const to = (n: number) => ({ page: "questions", id: "", query: { exam: e.exam[n] } });
  return (
    <Section title="Exams">
      <Table
        label="Exams"
        rows={rows}
        columns={[
          ["exam", "", (n) => <A to={to(n)} children={e.exam[n]} />],
          ["of the state at", "", (n) => e.marker[n]],
          ["control", "", (n) => e.control[n]],
          ["right", "num", (n) => ratio(e.correct[n], e.total[n])],
          ["95 %", "num", (n) => (e.low[n] === null ? "–" : `${percent(e.low[n])} to ${percent(e.high[n])}`)],
          ["unanswered", "num", (n) => count(e.unanswered[n])],
          ["guidance calls", "num", (n) => count(e.guidance_calls[n])],
          ["answered by", "", (n) => bdi(e.execution[n])],
          ["opened at", "num", (n) => <Seq seq={e.from[n]} />],
        ]}
      />
      {rows.map((n) => e.problem[n] && <p key={n} class="problem" children={`${e.exam[n]}: ${e.problem[n]}`} />)}
    </Section>
  );
}

function Settings() {
  const { index } = useView();
  const models = Object.entries(index.models).filter(([, model]) => model);
  const text = (value: any) => bdi(typeof value === "string" ? value || "none" : JSON.stringify(value));
  return (
    <details>
      <summary>Models, settings and folder</summary>
      <Facts
        rows={[
          ...models.map(([tier, model]): [string, any] => [`${tier} model`, bdi(model)]),
          ["folder", bdi(index.path)],
          ["written", `${time(index.began_us)} to ${time(index.ended_us)} UTC`],
          ["head", <code>{index.head}</code>],
          index.parent && ["learned before", bdi(index.parent)],
          ["read by", `mage-es ${index.version}`],
        ]}
      />
      <Facts rows={Object.entries(index.config).map(([name, value]) => [words(name), text(value)])} />
    </details>
  );
}
