/** What was gained, at what cost, and how to check it. */
import { useState } from "preact/hooks";
import { Chart, type Line } from "../charts";
import { at, record, type Index, type Row, type Table as Data, type Tables } from "../data";
import { A, Seq, bdi, mark, moment, muted, ratio, verdict } from "../marks";
import { Command, Section, fold } from "../parts";
import { facts, figures, list, log, plain, table, tabled, type Column } from "../tables";
import { SIGNS } from "../scrubber";
import { useRow, useTables, useView } from "../view";
import { chance, count, decimal, dollars, number, percent, share, time, when, words } from "../words";

const SAME = "The line that began this run. The same models and seed give the same digests.";

export function Overview({ t: { overview, scores, exams } }: { t: Tables }) {
  const { index, seq } = useView();
  const known = at(exams, seq);
  const held = <Section title="What it holds" children={<Sizes overview={overview} />} />;
  return (
    <>
      <Certificate overview={overview} scores={scores} exams={exams} />
      <Accuracy overview={overview} scores={scores} exams={exams} />
      <div class="columns" children={[held, <Happened />]} />
      <Iterations overview={overview} scores={scores} />
      {known.length > 0 && <Exams exams={exams} rows={known} />}
      <Section title="Reproduce it" note={SAME}>
        {index.command && <Command text={index.command} />}
        {index.head && <Command text={`mage-es verify ${index.named} --head ${index.head}`} />}
        {fold("Models, settings and folder", settings(index))}
      </Section>
    </>
  );
}

/** The row of overview that holds at a moment. */
const rowAt = (overview: Data, seq: number): Row => record(overview, at(overview, seq).at(-1) ?? -1);

/** What was measured, or what measures it, and what it cost. */
function Certificate({ overview, scores, exams: every }: { overview: Data; scores: Data; exams: Data }) {
  const { index, seq } = useView();
  const now = rowAt(overview, seq);
  const exams = at(every, seq).map((n) => record(every, n));
  const closed = exams.filter((exam) => exam.closed !== null && exam.closed <= seq && exam.total);
  const pair = [now.exam_before, now.exam].flatMap((name) => closed.filter((one) => one.exam === name));
  const [first, newest] = pair;
  const none = { baseline: "a baseline has none", served: "mage-es gain measures it" }[index.kind as string];
  const calls = (now.execution_calls ?? 0) + (now.guidance_calls ?? 0);
  const asked = closed.length ? <A to={{ page: "cost" }} children={count(now.guidance_at_inference)} /> : "–";
  const table = <A to={{ page: "guard", id: String(now.closed) }} children="the paired table" />;
  const guard = now.guard ? [verdict(now.guard), [`${when(now.closed)}: `, table]] : ["–", "no verdict so far"];
  const examined = closed.length ? `in ${number(closed.length, "exam")}` : "no exam so far";
  const gain = newest
    ? [`${now.gain > 0 ? "+" : ""}${decimal(now.gain, 1)} points`, gained(now, pair, closed)]
    : ["–", none ?? "needs an exam before and after"];
  return (
    <section class="certificate" aria-label="Certificate">
      {newest ? (
        <p class="claim">
          <span class="num">{share(first.correct, first.total, 0)}</span>
          <span class="arrow" aria-label="to" children="→" />
          <span class="num">{share(newest.correct, newest.total, 0)}</span>
          <span class="of">
            right on {number(newest.total, "question")} that it never saw, from the start to {stateOf(index, newest)}
          </span>
        </p>
      ) : (
        <Ungained now={now} scores={scores} closed={closed} later={exams.length < every.rows} />
      )}
      {now.open_iteration != null && partial(now)}
      {figures([
        ["Gain", gain[0], gain[1]],
        ["Cost", number(calls, "call"), `${count(now.guidance_calls)} of them guidance, ${dollars(now.usd)}`],
        ["Guidance calls at inference", asked, examined],
        ["Guard", guard[0], guard[1]],
      ])}
      <Verified />
    </section>
  );
}

/** The last iteration that was whole in the state that an exam asked. */
const stateOf = ({ markers }: Index, exam: Row): string =>
  markers.findLast((one) => !one.phase && one.seq <= exam.head_seq)?.name ?? exam.marker;

/** What an iteration under way has asked so far: apart, because it measures nothing. */
const partial = (now: Row) => (
  <p class="partial">
    <strong>{when(now.open_iteration)} is open.</strong>
    {` Right so far: ${count(now.open_correct)} of ${number(now.open_total, "anchor")}, which are no sample of all. `}
    {now.anchor_total > 0 && `What is measured is ${when(now.closed)}, the last whole one.`}
  </p>
);

/** How sure the gain is, and what shuffled memories did. */
function gained(now: Row, [first, newest]: Row[], closed: Row[]) {
  const pairs = { page: "compare", query: { vs: first.marker, ea: newest.exam, eb: first.exam } };
  const control = closed.findLast((exam) => exam.control === "shuffled" && exam.head_seq === newest.head_seq);
  return [
    `95 %: ${decimal(now.low, 1)} to ${decimal(now.high, 1)}, ${chance(now.p)}`,
    <br />,
    control ? share(control.correct, control.total, 0) : "no exam",
    " with shuffled memories",
    <br />,
    <A to={pairs} children="question by question" />,
  ];
}

/** What can be said where no gain was measured, and what measures it. */
function Ungained({ now, scores, closed, later }: { now: Row; scores: Data; closed: Row[]; later: boolean }) {
  const { index, seq } = useView();
  const sum = (values: number[]) => at(scores, seq).reduce((before, n) => before + values[n], 0);
  const total = sum(scores.col.total);
  const says = {
    baseline:
      `${share(sum(scores.col.correct), total)} right of ${number(total, "question")}. ` +
      "A baseline learns nothing; it is what a run is measured against.",
    served: `${number(index.counts.inferences ?? 0, "request")} served. What memories did to them:`,
  }[index.kind as string];
  const ask = later ? "Its exams came later." : "The gain takes an exam of the start and one of a later state:";
  const anchors =
    `${share(now.anchor_correct, now.anchor_total)} right on ${count(now.anchor_total)} anchors ` +
    `at ${when(now.closed)}. `;
  const begun = closed.some((exam) => exam.marker === "start" && exam.control === "none");
  return (
    <>
      <p class="claim small" children={[now.anchor_total > 0 && anchors, says ?? ask]} />
      {index.kind === "served" && <Command text={`mage-es gain ${index.named}`} />}
      {!says && !later && !begun && <Command text={`mage-es exam ${index.named} --at start`} />}
      {!says && !later && <Command text={`mage-es exam ${index.named}`} />}
    </>
  );
}

/** What `verify` says when it is asked; a copy holds what it said when it was made. */
function Verified() {
  const { index } = useView();
  const [asked, ask] = useState(index.copy);
  const { value: found, error } = useRow(index, "verify", asked ? 0 : null);
  const says = "Every byte, the chain, digests, splits, leaks and theorems, as mage-es verify checks them.";
  const button = <button onClick={() => ask(true)} disabled={asked} children={asked ? "Checking …" : "Verify"} />;
  if (!found) return <p class="check" children={[button, muted(error || says)]} />;
  const checks: Row[] = found.checks;
  const rows = table({ label: "Checks" }, checks.length, [
    ["", "", (n) => mark(checks[n].ok ? "correct" : "wrong")],
    ["check", "", (n) => checks[n].name],
    ["measured", "", (n) => bdi(checks[n].measured || "–")],
    ["bound", "", (n) => bdi(checks[n].bound || "–")],
    ["what", "wrap", (n) => bdi(checks[n].detail)],
    checks.some((one) => one.seq) && ["broken at", "num", (n) => <Seq seq={checks[n].seq} />],
  ]);
  return (
    <div class="check" role="status">
      <p>
        {mark(found.ok ? "correct" : "wrong")} {bdi(found.text)}
        {found.leaks !== null && `, ${number(found.leaks, "leak")}`}
        {index.copy && muted(" when this copy was made; check again with the second line of “Reproduce it” below.")}
      </p>
      {list("happened", found.findings, bdi)}
      {fold(number(checks.length, "check"), rows, !found.ok)}
    </div>
  );
}

/** Anchors and exams over iterations. */
function Accuracy({ overview, scores, exams }: { overview: Data; scores: Data; exams: Data }) {
  const { index, seq, go } = useView();
  const { closed, open_iteration: open } = rowAt(overview, seq);
  const { col: s } = scores;
  const { col: e } = exams;
  const shares = ({ col }: Data, rows: number[], iteration: (n: number) => number) =>
    new Map(rows.filter((n) => col.total[n]).map((n) => [iteration(n), col.correct[n] / col.total[n]]));
  const scored = (purpose: string) => at(scores, seq).filter((n) => s.purpose[n] === purpose);
  const [every, fresh] = ["anchor", "fresh"].map((name) => shares(scores, scored(name), (n) => s.iteration[n]));
  const anchors = new Map([...every].filter(([iteration]) => iteration <= closed));
  const partial = new Map([...every].filter(([iteration]) => iteration > closed));
  const latest = Math.max(-1, ...index.markers.map((marker) => marker.iteration ?? -1));
  const iterationOf = (name: string) => index.markers.find((one) => one.name === name)?.iteration ?? -1;
  const plain = at(exams, seq).filter((n) => e.closed[n] !== null && e.closed[n] <= seq && e.control[n] === "none");
  const examined = shares(exams, plain, (n) => (e.marker[n] === "latest" ? latest : iterationOf(e.marker[n])));
  const back = index.marks.filter((one) => one.kind === "rollback" && one.seq <= seq);
  const undone = back.map((one) => index.markers.find((marker) => marker.seq >= one.seq && !marker.phase)?.iteration);
  const main = anchors.size ? anchors : fresh;
  const x = [...new Set([...main.keys(), ...partial.keys(), ...examined.keys()])].sort((p, q) => p - q);
  const line = (label: string, colour: string, of: Map<number, number>, bare = true): Line | false =>
    of.size > 0 && { label, colour, bare, y: x.map((iteration) => of.get(iteration) ?? null) };
  const lines = [
    line(anchors.size ? "anchors" : "fresh questions", "accent", main, false),
    line("anchors so far, open", "muted", partial),
    line("exams", "second", examined),
    line("rolled back by the guard", "bad", new Map([...main].filter(([iteration]) => undone.includes(iteration)))),
  ].filter((one) => !!one);
  const what = anchors.size ? "Anchors measured on each state" : "Each iteration asks others";
  // Of an open iteration the newest moment is shown: it has no end yet.
  const pick = (k: number) => go({ query: { at: k === open ? "" : when(k) } });
  if (x.length < 2) return null;
  return (
    <Section title="Right answers" note={`${what}; exams ask questions that the learner never saw.`}>
      <Chart label="Right answers" x={x} lines={lines} format={(v) => percent(v, 0)} range={[0, 1]} pick={pick} />
    </Section>
  );
}

const SIZES: [title: string, page: string, column: string, query?: Record<string, string>][] = [
  ["Memories in use", "memories", "memories", { status: "active" }],
  ["Memories in quarantine", "memories", "quarantined", { status: "quarantined" }],
  ["Memories stored", "memories", "stored", { status: "" }],
  ["Nodes of the graph", "graph", "nodes"],
  ["Edges of the graph", "graph", "edges"],
  ["Execution calls", "cost", "execution_calls"],
  ["Guidance calls", "cost", "guidance_calls"],
  ["Price", "cost", "usd"],
];

/** How much there is at this moment, beside the other. */
export function Sizes({ overview }: { overview: Data }) {
  const { index, seq, other } = useView();
  const beside = useTables(other?.index ?? index, "overview");
  const now = rowAt(overview, seq);
  const then = other && beside.value && rowAt(beside.value.overview, other.seq);
  const rows = SIZES.map(([title, page, column, query]) => {
    const text = (v: number | null) => (v === null ? "–" : column === "usd" ? dollars(v) : count(v));
    const [a, b] = [now[column] ?? null, then?.[column] ?? null];
    const less = a === null || b === null ? "–" : `${a > b ? "+" : a < b ? "−" : ""}${text(Math.abs(a - b))}`;
    return [<A to={{ page, query }} children={title} />, text(a), ...(then ? [text(b), less] : [])];
  });
  return plain("", [then && ["", "A", "B", "A − B"], ...rows]);
}

const UNTIL_NOW = "No exam, rollback, quarantine or split up to this moment.";

function Happened() {
  const { index, seq } = useView();
  const marks = index.marks.filter((one) => one.seq <= seq);
  const told = (one: (typeof marks)[0]): any => [one.seq, `${SIGNS[one.kind] ?? "·"} ${one.kind}`, one.text];
  return (
    <Section title="What happened" note={marks.length > 12 && `The newest 12 of ${count(marks.length)}.`}>
      {log(marks.slice(-12).reverse(), told, UNTIL_NOW)}
    </Section>
  );
}

function Iterations({ overview, scores }: { overview: Data; scores: Data }) {
  const { seq } = useView();
  const { col: c } = overview;
  const { col: s } = scores;
  const closed = new Map<number, number>(); // iteration: the row at its own marker, of an open one the newest
  for (let n = 0; n < overview.rows && c.from[n] <= seq; n++) {
    const [, name, k] = /^(start|iter-(\d+))/.exec(c.marker[n]) ?? [];
    if (name) closed.set(Number(k ?? -1), n);
  }
  if (!closed.size) return null;
  const scored = new Map(at(scores, seq).map((n) => [`${s.iteration[n] ?? -1} ${s.purpose[n]}`, n]));
  const pair = (k: number, purpose: string) => {
    const n = scored.get(`${k} ${purpose}`);
    return n === undefined ? "–" : ratio(s.correct[n], s.total[n]);
  };
  const row = (k: number) => closed.get(k) as number;
  const iterations = [...closed.keys()].sort((p, q) => p - q);
  const whole = (k: number) => c.closed[row(k)] >= k;
  const share = (purpose: string) => (k: number) => {
    const n = scored.get(`${k} ${purpose}`);
    return n === undefined ? null : s.correct[n] / s.total[n];
  };
  const rated = (name: string, purpose: string): Column => [name, "num", (k) => pair(k, purpose), share(purpose)];
  const sized = (name: string, of: (n: number) => number): Column => {
    return [name, "num", (k) => count(of(row(k))), (k) => of(row(k))];
  };
  const open = () => <A to={{ query: { at: "" } }} children={when(latest)} />;
  const latest = iterations[iterations.length - 1];
  const note = !whole(latest) && `${when(latest)} is open: its figures are those of what it has asked so far.`;
  return tabled({ title: "Iteration by iteration", note }, iterations, [
    ["iteration", "", (k) => (whole(k) ? moment(when(k)) : [open(), muted(" open")]), (k) => k],
    rated("fresh", "fresh"),
    rated("revisits", "revisit"),
    rated("anchors", "anchor"),
    ["guard", "", (k) => (whole(k) && c.guard[row(k)] ? verdict(c.guard[row(k)]) : "–"), (k) => c.guard[row(k)]],
    sized("in use", (n) => c.memories[n]),
    sized("quarantined", (n) => c.quarantined[n]),
    sized("calls so far", (n) => c.execution_calls[n] + c.guidance_calls[n]),
    sized("of them guidance", (n) => c.guidance_calls[n]),
  ]);
}

function Exams({ exams: { col: e }, rows }: { exams: Data; rows: number[] }) {
  const link = (exam: string) => <A to={{ page: "questions", id: "", query: { exam } }} children={exam} />;
  return (
    <Section title="Exams">
      {table({ label: "Exams" }, rows, [
        ["exam", "", (n) => link(e.exam[n]), (n) => e.exam[n]],
        ["of the state at", "", (n) => e.marker[n], (n) => e.head_seq[n]],
        ["control", "", (n) => e.control[n], (n) => e.control[n]],
        ["right", "num", (n) => ratio(e.correct[n], e.total[n]), (n) => e.correct[n] / e.total[n]],
        ["95 %", "num", (n) => (e.low[n] === null ? "–" : `${percent(e.low[n])} to ${percent(e.high[n])}`)],
        ["unanswered", "num", (n) => count(e.unanswered[n]), (n) => e.unanswered[n]],
        ["undecided", "num", (n) => count(e.undecided[n]), (n) => e.undecided[n]],
        ["guidance calls", "num", (n) => count(e.guidance_calls[n]), (n) => e.guidance_calls[n]],
        ["answered by", "", (n) => bdi(e.execution[n]), (n) => e.execution[n]],
        ["opened at", "num", (n) => <Seq seq={e.from[n]} />, (n) => e.from[n]],
      ])}
      {rows.map((n) => e.problem[n] && <p key={n} class="problem" children={`${e.exam[n]}: ${e.problem[n]}`} />)}
    </Section>
  );
}

function settings(index: Index) {
  const text = (value: any) => bdi(typeof value === "string" ? value || "none" : JSON.stringify(value));
  return facts([
    ...Object.entries(index.models).map(([tier, model]): any => model && [`${tier} model`, bdi(model)]),
    ["folder", bdi(index.path)],
    ["written", `${time(index.began_us)} to ${time(index.ended_us)} UTC`],
    ["head", <code>{index.head}</code>],
    index.parent && ["learned before", bdi(index.parent)],
    ["read by", `mage-es ${index.version}`],
    ...Object.entries(index.config).map(([name, value]): any => [words(name), text(value)]),
  ]);
}
