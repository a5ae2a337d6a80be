/** Two moments of a run, or two runs: what differs, question by question and memory by memory. */
import { Fragment, h } from "preact";
import { useMemo } from "preact/hooks";
import { named } from "../address";
import { byQuestion, carried, newest, questionOf, source, titleOf } from "../asked";
import { distinct } from "../data";
import type { Index, Row, Table as Data, Tables } from "../data";
import { A, bdi, memory, muted, question, verdict } from "../marks";
import { Choice, Empty, Loading, Plain, Scroll, Section, Select, Table, Text } from "../parts";
import { compare } from "../scrubber";
import { step } from "../time";
import { useLoad, useTables, useView } from "../view";
import { chance, count, number, short, words } from "../words";
import { statesAt } from "./memories";
import { Sizes } from "./overview";
import { Changes, answersOf, callsOf, promptsOf } from "./question";
import type { Answer } from "./question";

/** One of the two: a moment of a run, and which answers of it, those of the run or those of an exam. */
interface Side {
  letter: string;
  index: Index;
  seq: number;
  exam: string;
  t: Tables;
}

const TABLES = ["overview", "questions", "askings", "exams", "memories", "memory_states"];
const HOW = "Choose another run above, or a moment of this one. The bar below then has two handles, A and B.";

export function Compare() {
  const view = useView();
  const { index, seq, other, runs, address, go } = view;
  const one = useTables(index, ...TABLES);
  const two = useTables(other?.index ?? index, ...TABLES);
  const beside = other && other.index !== index ? other : null;
  const choose = (run: string) => {
    const same = run === index.run;
    go({ query: { with: same ? "" : run, vs: same ? named(index, step(index, seq, -1, true)) : "", ask: "" } });
  };
  const runNames = runs.map(({ run }): [string, string] => [run, run === index.run ? `${run} (this run)` : run]);
  const markers = [...(beside?.index.markers ?? []).map((marker) => marker.name), "latest"];
  const at = ({ index: of, seq: to }: { index: Index; seq: number }) => named(of, to);
  const exams = (name: string, label: string, t: Data) =>
    t.rows > 0 && (
      <Choice
        name={name}
        label={label}
        of={distinct(t.col.exam).map((exam) => [exam, `exam ${exam}`])}
        none="as asked in the run"
      />
    );
  const pick = (
    <div class="filters">
      <Select label="B is a moment of" value={beside?.index.run ?? index.run} of={runNames} set={choose} />
      {beside && (
        <Select
          label="at its moment"
          value={named(beside.index, beside.seq)}
          of={markers.map((name) => [name, name])}
          set={(vs) => go({ query: { vs } }, true)}
        />
      )}
      {other && one.value && exams("ea", "A answers", one.value.exams)}
      {other && two.value && exams("eb", "B answers", two.value.exams)}
    </div>
  );
  if (!other)
    return (
      <Section title="Compare">
        {pick}
        <Empty title="Nothing to compare yet" children={HOW} />
        <p>
          <button type="button" onClick={() => compare(view)} children="Compare two moments" />
        </p>
      </Section>
    );
  if (!one.value || !two.value) return <Loading error={one.error || two.error} />;
  const a = { letter: "A", index, seq, t: one.value, exam: address.query.ea ?? "" };
  const b = { letter: "B", index: other.index, seq: other.seq, t: two.value, exam: address.query.eb ?? "" };
  return (
    <Fragment>
      <Section title="Compare" note={`A is ${a.index.run} at ${at(a)}. B is ${b.index.run} at ${at(b)}.`}>
        {pick}
        <Sizes overview={a.t.overview} />
      </Section>
      {beside && <Settings a={a.index} b={b.index} />}
      <Flips a={a} b={b} />
      <Learned a={a} b={b} />
    </Fragment>
  );
}

function Settings({ a, b }: { a: Index; b: Index }) {
  const text = (v: any) => (v == null ? "–" : typeof v === "string" ? v : JSON.stringify(v));
  const models = (index: Index) => Object.entries(index.models).map(([tier, model]) => [`${tier} model`, model]);
  const [p, q]: Row[] = [a, b].map((index) => ({
    benchmark: index.benchmark,
    ...Object.fromEntries(models(index)),
    ...index.config,
  }));
  const differ = Object.keys({ ...p, ...q }).filter((name) => text(p[name]) !== text(q[name]));
  return (
    <Section title="Settings that differ">
      <Plain
        kind="texts"
        heads={["setting", "A", "B"]}
        rows={differ.map((name) => [words(name), bdi(text(p[name])), bdi(text(q[name]))])}
        none="None: both runs have the same settings."
      />
    </Section>
  );
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

/** The newest asking of each question on a side, by the question's id. */
function answered({ t, seq, exam }: Side) {
  const row: number | null = exam ? t.exams.col.exam.indexOf(exam) : null;
  const found = new Map<string, number>();
  for (const [n, list] of byQuestion(t.askings)) {
    const asking = newest(t.askings, list, exam ? Infinity : seq, row);
    if (asking >= 0) found.set(t.questions.col.id[n], asking);
  }
  return found;
}

function Flips({ a, b }: { a: Side; b: Side }) {
  const { address } = useView();
  const left = useMemo(() => answered(a), [a.t, a.seq, a.exam]);
  const right = useMemo(() => answered(b), [b.t, b.seq, b.exam]);
  const of = (side: Side, found: Map<string, number>, id: string): string =>
    side.t.askings.col.verdict[found.get(id) as number];
  const [at, bt] = [(id: string) => of(a, left, id), (id: string) => of(b, right, id)];
  const paired = [...left.keys()].filter((id) => right.has(id));
  if (!paired.length) {
    const how = "Each side needs answers to the same questions: move the handles, or choose exams above.";
    return (
      <Section title="Answers, in pairs">
        <Empty title="No question was answered on both sides" children={how} />
      </Section>
    );
  }
  const ok = (verdict: string) => verdict === "correct";
  const cells = [0, 0, 0, 0];
  for (const id of paired) cells[(ok(at(id)) ? 0 : 2) + (ok(bt(id)) ? 0 : 1)]++;
  const [both, onlyA, onlyB, neither] = cells;
  const differ = paired.filter((id) => at(id) !== bt(id)).sort((p, q) => Number(ok(at(q))) - Number(ok(at(p))));
  const asked = paired.includes(address.query.ask) ? address.query.ask : "";
  const test = `two-sided exact sign test, ${chance(signTest(onlyA, onlyB))}`;
  const title = (id: string) => a.t.questions.col.title[a.t.askings.col.question[left.get(id) as number]] || id;
  return (
    <Section
      title="Answers, in pairs"
      note={`${number(paired.length, "question")} answered on both sides, ${count(onlyA + onlyB)} right on one alone: ${test}.`}>
      <Plain
        kind="pairs"
        heads={["", "right at B", "not right at B"]}
        rows={[
          ["right at A", count(both), <span class="good">{count(onlyA)} only A</span>],
          ["not right at A", <span class="bad">{count(onlyB)} only B</span>, count(neither)],
        ]}
      />
      {differ.length > 0 && (
        <Table
          label="Questions that differ"
          height={360}
          selected={asked ? differ.indexOf(asked) : null}
          rows={[...differ.keys()]}
          columns={[
            ["A", "narrow", (n) => verdict(at(differ[n]))],
            ["B", "narrow", (n) => verdict(bt(differ[n]))],
            ["question", "grow", (n) => <A to={{ query: { ask: differ[n] } }} children={bdi(title(differ[n]))} />],
            ["asked at A", "", (n) => titleOf(a.t, left.get(differ[n]) as number)],
            ["asked at B", "", (n) => titleOf(b.t, right.get(differ[n]) as number)],
          ]}
        />
      )}
      {!asked && differ.length > 0 && <p class="note">Choose a question to see both prompts.</p>}
      {asked && <Beside key={asked} a={a} b={b} rows={[left.get(asked), right.get(asked)]} id={asked} />}
    </Section>
  );
}

/** Both prompts of one question. */
function Beside({ a, b, rows, id }: { a: Side; b: Side; rows: (number | undefined)[]; id: string }) {
  const { value, error } = useLoad(async () => {
    const sides = [a, b].map(async ({ index, letter }, k) => {
      const askings = (await questionOf(index, id))?.askings ?? [];
      const found = askings.filter((one) => one.n === rows[k]);
      const answers = await answersOf(
        index,
        found.map((one) => source(askings, one)),
      );
      const note = (one: Answer) => one.n !== found[0].n && carried(one, found[0]);
      return answers.map((one) => ({ ...one, title: `${letter}: ${one.title}`, note: note(one) }));
    });
    return (await Promise.all(sides)).flat();
  }, [a.index.run, b.index.run, id, ...rows]);
  if (value?.length !== 2) return <Loading error={error} />;
  const column = (answer: Answer) => (
    <div>
      <h3>
        {answer.title}, {verdict(answer.verdict)}
      </h3>
      {answer.note && <p class="note">{answer.note}</p>}
      <Scroll label={`Prompt, ${answer.title}`} kind="tall">
        <Text text={promptsOf(answer)} />
      </Scroll>
      <h3>Reply</h3>
      <Text text={callsOf(answer).at(-1)?.reply || "(none)"} />
    </div>
  );
  return (
    <Fragment>
      <h3>{question(id, id)}</h3>
      <div class="columns">{value.map(column)}</div>
      <Changes a={value[1]} b={value[0]} across={a.index !== b.index} />
    </Fragment>
  );
}

/** The status of each memory on a side, by the memory's id. */
const held = ({ t, seq }: Side) =>
  new Map([...statesAt(t.memory_states, seq)].map(([n, state]) => [t.memories.col.id[n] as string, { n, state }]));

function Learned({ a, b }: { a: Side; b: Side }) {
  const left = useMemo(() => held(a), [a.t, a.seq]);
  const right = useMemo(() => held(b), [b.t, b.seq]);
  const statusA = (id: string) => a.t.memory_states.col.status[left.get(id)?.state ?? -1];
  const statusB = (id: string) => b.t.memory_states.col.status[right.get(id)?.state ?? -1];
  const rows = [...new Set([...left.keys(), ...right.keys()])].filter((id) => statusA(id) !== statusB(id));
  const onlyA = rows.filter((id) => !right.has(id)).length;
  const onlyB = rows.filter((id) => !left.has(id)).length;
  const of = (id: string, column: string): string =>
    left.has(id) ? a.t.memories.col[column][left.get(id)?.n ?? 0] : b.t.memories.col[column][right.get(id)?.n ?? 0];
  const shown = (status: string | undefined) => (status ? verdict(status) : muted("not there"));
  const name = (id: string) => {
    const title = of(id, "title") || short(id);
    return left.has(id) || a.index === b.index ? memory(id, title) : bdi(title);
  };
  const note = `${count(onlyA)} only at A, ${count(onlyB)} only at B, ${count(rows.length - onlyA - onlyB)} of another status.`;
  return (
    <Section title="Memories that differ" note={note}>
      <Table
        label="Memories that differ"
        height={360}
        none={<p class="muted">Both sides hold the same memories.</p>}
        rows={[...rows.keys()]}
        columns={[
          ["A", "narrow", (n) => shown(statusA(rows[n]))],
          ["B", "narrow", (n) => shown(statusB(rows[n]))],
          ["memory", "grow", (n) => name(rows[n])],
          ["kind", "", (n) => words(of(rows[n], "kind"))],
        ]}
      />
    </Section>
  );
}
