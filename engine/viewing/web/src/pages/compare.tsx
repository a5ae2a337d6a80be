/** Two moments of a run, or two runs: what differs, question by question and memory by memory. */
import { useMemo } from "preact/hooks";
import { named } from "../address";
import { byQuestion, carried, newest, questionOf, source } from "../asked";
import { all, at, distinct, type Index, type Row, type Table, type Tables } from "../data";
import { A, bdi, memory, muted, question, toned, verdict } from "../marks";
import { Choice, Empty, Loading, Scroll, Section, Text, field, options } from "../parts";
import { plain, table, tabled } from "../tables";
import { compare } from "../scrubber";
import { step } from "../time";
import { useLoad, useTables, useView } from "../view";
import { chance, count, number, short, words } from "../words";
import { statesAt } from "./memories";
import { Sizes } from "./overview";
import { answersOf, callsOf, changes, promptsOf, type Answer } from "./question";

/**
 * One of the two: a moment of a run, and which answers of it: of an exam, else its anchors. What is asked fresh differs from
 * one iteration to the next, and a revisit is asked because it was wrong: a comparison of those shows what was chosen.
 */
type Side = { letter: string; index: Index; seq: number; exam: string; t: Tables };

const TABLES = ["overview", "questions", "askings", "exams", "memories", "memory_states"];
const [ANCHORS, NEWEST] = ["its anchors", "its newest exam"];
const HOW = "Choose another run above, or a moment of this one. The bar below then has two handles, A and B.";

export function Compare() {
  const view = useView();
  const { index, seq, other, runs, address, go } = view;
  const { ea = "", eb = "" } = address.query;
  const [one, two] = [useTables(index, ...TABLES), useTables(other?.index ?? index, ...TABLES)];
  const beside = other && other.index !== index ? other : null;
  const baseline = [index, beside?.index].some((one) => one?.kind === "baseline");
  const choose = (run: string) => {
    const same = run === index.run;
    go({ query: { with: same ? "" : run, vs: same ? named(index, step(index, seq, -1, true)) : "", ask: "" } });
  };
  const runNames = runs.map(({ run }): [string, string] => [run, run === index.run ? `${run} (this run)` : run]);
  const markers = [...(beside?.index.markers ?? []).map((marker) => marker.name), "latest"];
  const exams = (name: string, label: string, t: Tables | null) => {
    const of = distinct(t?.exams.col.exam).map((exam): [string, string] => [exam, `exam ${exam}`]);
    return other && of.length > 0 && <Choice name={name} label={label} of={of} none={baseline ? NEWEST : ANCHORS} />;
  };
  const move = (vs: string) => go({ query: { vs } }, true);
  const pick = (
    <div class="filters">
      {field("B is a moment of", options({}, beside?.index.run ?? index.run, runNames, choose))}
      {beside && field("at its moment", options({}, named(beside.index, beside.seq), markers, move))}
      {exams("ea", "A answers", one.value)}
      {exams("eb", "B answers", two.value)}
    </div>
  );
  const begin = <button onClick={() => compare(view)} children="Compare two moments" />;
  const none = <Empty title="Nothing to compare yet" children={[HOW, <p>{begin}</p>]} />;
  if (!other) return <Section title="Compare" children={[pick, none]} />;
  if (!one.value || !two.value) return <Loading error={one.error || two.error} />;
  const chosen = (exam: string, t: Tables) => exam || (baseline ? newestExam(t) : "");
  const a: Side = { letter: "A", index, seq, t: one.value, exam: chosen(ea, one.value) };
  const b: Side = { letter: "B", ...other, t: two.value, exam: chosen(eb, two.value) };
  const is = (side: Side) => `${side.letter} is ${side.index.run} at ${named(side.index, side.seq)}.`;
  return (
    <>
      <Section title="Compare" note={`${is(a)} ${is(b)}`} children={[pick, <Sizes overview={a.t.overview} />]} />
      {beside && settings(a.index, b.index)}
      <Flips a={a} b={b} />
      <Learned a={a} b={b} />
    </>
  );
}

/** The exam of the newest state; "" where there is none, as of a baseline. */
function newestExam({ exams }: Tables): string {
  const { closed, control, head_seq, exam } = exams.col;
  const whole = all(exams).filter((n) => closed[n] !== null && control[n] === "none");
  const best = whole.reduce((p, n) => (p < 0 || head_seq[n] >= head_seq[p] ? n : p), -1);
  return exam?.[best] ?? "";
}

function settings(...both: Index[]) {
  const [p, q] = both.map(({ benchmark, models, config }) => {
    const tiers = Object.entries(models).map(([tier, model]) => [`${tier} model`, model]);
    const told = Object.entries({ benchmark, ...Object.fromEntries(tiers), ...config });
    return new Map(told.map(([name, v]) => [name, v == null ? "–" : typeof v === "string" ? v : JSON.stringify(v)]));
  });
  const differ = [...new Set([...p.keys(), ...q.keys()])].filter((name) => p.get(name) !== q.get(name));
  const rows = differ.map((name) => [words(name), bdi(p.get(name) ?? "–"), bdi(q.get(name) ?? "–")]);
  const table = plain("texts", [["setting", "A", "B"], ...rows], "None: both runs have the same settings.");
  return <Section title="Settings that differ" children={table} />;
}

/** Two-sided exact sign test. */
function signTest(better: number, worse: number) {
  const n = better + worse;
  let term = -n * Math.LN2;
  let tail = 0;
  for (let k = 0; k <= Math.min(better, worse); k++) {
    tail += Math.exp(term);
    term += Math.log((n - k) / (k + 1));
  }
  return n ? Math.min(1, 2 * tail) : 1;
}

/** The asking of each question that measures a side, by the question's id: of whole iterations alone. */
function answered({ t: { questions, askings, overview }, seq, exam }: Side) {
  const { purpose, iteration, verdict, carried: why } = askings.col;
  const closed: number = overview.col.closed?.[at(overview, seq).at(-1) ?? -1] ?? -1;
  // An anchor that the guard did not need keeps an older verdict, which says nothing of this state.

  const is = (n: number) =>
    purpose[n] === "exam" || (purpose[n] === "anchor" && iteration[n] === closed && !/guard/.test(why[n]));
  const measures = (n: number) => is(n) && verdict[n] !== "undecided"; // which is neither right nor wrong
  const found = new Map<string, number>();
  for (const [n, list] of byQuestion(askings)) {
    const asking = newest(askings, list.filter(measures), exam ? Infinity : seq, exam);
    if (asking >= 0) found.set(questions.col.id[n], asking);
  }
  return found;
}

/** The asking that a verdict is from; -1: one of a parent's. */
const origin = ({ carried, verdict_of: of }: Table["col"], n: number): number => (carried[n] ? (of[n] ?? -1) : n);

function Flips({ a, b }: { a: Side; b: Side }) {
  const { ask } = useView().address.query;
  const left = useMemo(() => answered(a), [a.t, a.seq, a.exam]);
  const right = useMemo(() => answered(b), [b.t, b.seq, b.exam]);
  const [p, q] = [a.t.askings.col, b.t.askings.col];
  const { col } = a.t.questions;
  // Rows of two files may have one id and be different questions.
  const same = (n: number, m: number) => col.title[p.question[n]] === b.t.questions.col.title[q.question[m]];
  const both = [...left].flatMap(([id, n]) => {
    const m = right.get(id);
    return m !== undefined && same(n, m) ? [{ id, n, m }] : [];
  });
  const pairs = both.filter(({ n, m }) => a.index !== b.index || origin(p, n) !== origin(q, m));
  const dropped = both.length - pairs.length;
  const left_out =
    dropped > 0 &&
    `${number(dropped, "question")} left out: asked once, as nothing that it would see had changed, so both sides have ` +
      "one answer.";
  if (!pairs.length) {
    const how = "Move the handles, or choose exams above.";
    const title = dropped ? "Both sides have the same answers" : "No question was answered on both sides";
    const none = <Empty title={title} children={[left_out && <p>{left_out}</p>, how]} />;
    return <Section title="Answers, in pairs" children={none} />;
  }
  const right_ = (of: Table["col"], n: number) => of.verdict[n] === "correct";
  const sum = (atA: boolean, atB: boolean) =>
    pairs.filter(({ n, m }) => right_(p, n) === atA && right_(q, m) === atB).length;
  const [onlyA, onlyB] = [sum(true, false), sum(false, true)];
  const differ = pairs
    .filter(({ n, m }) => p.verdict[n] !== q.verdict[m])
    .sort((one, two) => Number(right_(q, two.m)) - Number(right_(q, one.m)));
  const asked = differ.findIndex(({ id }) => id === ask);
  const test = `two-sided exact sign test, ${chance(signTest(onlyA, onlyB))}`;
  const what = (side: Side) => (side.exam ? `exam ${side.exam}` : ANCHORS);
  const sides = `A: ${what(a)}, B: ${what(b)}. ${number(pairs.length, "question")} asked on both sides`;
  const link = ({ id, n }: (typeof pairs)[0]) => (
    <A to={{ query: { ask: id } }} children={bdi(col.title[p.question[n]] || id)} />
  );
  return (
    <Section title="Answers, in pairs" note={`${sides}, ${count(onlyA + onlyB)} right on one alone: ${test}.`}>
      {plain("pairs", [
        ["", "right at B", "not right at B"],
        ["right at A", count(sum(true, true)), toned("good", `${count(onlyA)} only A`)],
        ["not right at A", toned("bad", `${count(onlyB)} only B`), count(sum(false, false))],
      ])}
      {left_out && <p class="note">{left_out}</p>}
      {differ.length > 0 &&
        table({ label: "Questions that differ", height: 360, selected: asked }, differ.length, [
          ["A", "narrow", (k) => verdict(p.verdict[differ[k].n]), (k) => p.verdict[differ[k].n]],
          ["B", "narrow", (k) => verdict(q.verdict[differ[k].m]), (k) => q.verdict[differ[k].m]],
          ["question", "grow", (k) => link(differ[k]), (k) => col.title[p.question[differ[k].n]]],
          ["asked at A", "", (k) => p.title[differ[k].n], (k) => differ[k].n],
          ["asked at B", "", (k) => q.title[differ[k].m], (k) => differ[k].m],
        ])}
      {asked < 0 && differ.length > 0 && <p class="note">Choose a question to see both prompts.</p>}
      {asked >= 0 && <Beside key={ask} a={a} b={b} rows={[differ[asked].n, differ[asked].m]} id={ask} />}
    </Section>
  );
}

/** Both prompts of one question. */
function Beside({ a, b, rows, id }: { a: Side; b: Side; rows: number[]; id: string }) {
  const { value, error } = useLoad(async () => {
    const sides = [a, b].map(async ({ index, letter }, k): Promise<[Answer, note: string | false]> => {
      const askings = (await questionOf(index, id))?.askings ?? [];
      const asked = askings.find((one) => one.n === rows[k]) ?? askings[0];
      const from = source(askings, asked);
      const [answer] = await answersOf(index, [from]);
      return [{ ...answer, title: `${letter}: ${answer.title}` }, from !== asked && carried(from, asked)];
    });
    return Promise.all(sides);
  }, [a.index.run, b.index.run, id, ...rows]);
  if (!value) return <Loading error={error} />;
  const column = ([answer, note]: [Answer, string | false]) => (
    <div>
      <h3>{[answer.title, ", ", verdict(answer.verdict)]}</h3>
      {note && <p class="note">{note}</p>}
      <Scroll label={`Prompt, ${answer.title}`} kind="tall" children={<Text text={promptsOf(answer)} />} />
      <h3>Reply</h3>
      <Text text={callsOf(answer).at(-1)?.reply || "(none)"} />
    </div>
  );
  return (
    <>
      <h3>{question(id, id)}</h3>
      <div class="columns">{value.map(column)}</div>
      {changes(value[1][0], value[0][0], a.index !== b.index)}
    </>
  );
}

/** The memories of a side by their ids, with their status. */
function held({ t: { memories, memory_states: states }, seq }: Side) {
  const { id, title, kind } = memories.col;
  const found = [...statesAt(states, seq)].map(([n, state]): [string, Row] => [
    id[n],
    { title: title[n], kind: kind[n], status: states.col.status[state] },
  ]);
  return new Map(found);
}

function Learned({ a, b }: { a: Side; b: Side }) {
  const left = useMemo(() => held(a), [a.t, a.seq]);
  const right = useMemo(() => held(b), [b.t, b.seq]);
  const ids = [...new Set([...left.keys(), ...right.keys()])];
  const differ = ids.filter((id) => left.get(id)?.status !== right.get(id)?.status);
  const onlyA = differ.filter((id) => !right.has(id)).length;
  const onlyB = differ.filter((id) => !left.has(id)).length;
  const other = differ.length - onlyA - onlyB;
  const note = `${count(onlyA)} only at A, ${count(onlyB)} only at B, ${count(other)} of another status.`;
  const status = (one?: Row) => (one ? verdict(one.status) : muted("not there"));
  const of = (n: number) => (left.get(differ[n]) ?? right.get(differ[n])) as Row;
  const here = (id: string) => left.has(id) || a.index === b.index;
  const name = (id: string, title: string) => (here(id) ? memory(id, title) : bdi(title || short(id)));
  const none = "Both sides hold the same memories.";
  return tabled({ title: "Memories that differ", note, none, height: 360 }, differ.length, [
    ["A", "narrow", (n) => status(left.get(differ[n])), (n) => left.get(differ[n])?.status],
    ["B", "narrow", (n) => status(right.get(differ[n])), (n) => right.get(differ[n])?.status],
    ["memory", "grow", (n) => name(differ[n], of(n).title), (n) => of(n).title],
    ["kind", "", (n) => words(of(n).kind), (n) => of(n).kind],
  ]);
}
