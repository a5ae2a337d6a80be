/** All questions, and what became of each by this moment. */
import { h } from "preact";
import { useMemo } from "preact/hooks";
import { byQuestion, newest } from "../asked.js";
import { A, Choice, Empty, Loading, Long, Search, Section, Verdict } from "../parts.jsx";
import { useTables, useView } from "../view.js";
import { count, number, when } from "../words.js";
import { Question } from "./question.jsx";

export function Questions() {
  const view = useView();
  const { value, error } = useTables(view.index, "questions", "askings", "exams");
  if (!value) return <Loading error={error} />;
  if (!value.questions.rows)
    return <Empty title="No question was asked in this run">{view.index.kind === "episodes" ? <span>It plays episodes: what they taught is under <A to={{ page: "memories" }}>Memories</A>.</span> : "Questions appear once an iteration has begun: mage-es resume"}</Empty>;
  if (view.address.id) return <Question tables={value} id={view.address.id} />;
  return <List tables={value} />;
}

const KINDS = /** @type {[string, string][]} */ ([["", "all"], ["wrong", "wrong"], ["correct", "correct"], ["unanswered", "unanswered"], ["changed", "verdict changed"], ["flipped", "differs between A and B"]]);

/** @param {any[]} values @returns {[string, string][]} */
const distinct = (values) => [...new Set(values)].filter((one) => one !== null && one !== "").sort().map((one) => [one, one]);

/** @param {{tables: Record<string, import("../data.js").Table>}} props */
function List({ tables }) {
  const { index, seq, other, address } = useView();
  const { questions, askings, exams } = tables;
  const { q = "", verdict = "", type = "", split = "", exam = "" } = address.query;
  const second = other && other.index === index ? other.seq : null;
  const lists = byQuestion(askings);
  const examRow = exam ? exams.col.exam.indexOf(exam) : -1;

  const state = useMemo(() => {
    const c = askings.col;
    const last = new Int32Array(questions.rows).fill(-1); // the newest asking that is judged: of the run, else of an exam
    const newestAsked = new Int32Array(questions.rows).fill(-1);
    const [asked, changes] = [new Uint32Array(questions.rows), new Uint32Array(questions.rows)];
    for (let k = 0; k < askings.rows; k++) {
      if (c.from[k] > seq || (examRow >= 0 && c.exam[k] !== examRow)) continue;
      const n = c.question[k];
      asked[n]++;
      newestAsked[n] = k;
      if (c.judged[k] === null || c.judged[k] > seq) continue;
      const before = last[n];
      if (before >= 0 && c.exam[before] === null && c.exam[k] !== null) continue;
      if (before >= 0 && c.verdict[before] !== c.verdict[k]) changes[n]++;
      last[n] = k;
    }
    return { last, newestAsked, asked, changes };
  }, [questions, askings, seq, examRow]);
  const before = (/** @type {number} */ n) => (second === null ? -1 : newest(askings, lists.get(n) ?? [], second, state.last[n] < 0 ? undefined : (askings.col.exam[state.last[n]] ?? undefined)));
  const verdictAt = (/** @type {number} */ k) => (k < 0 ? "" : askings.col.verdict[k]);
  const choices = useMemo(() => [questions.col.task_type, questions.col.split, exams.col.exam ?? []].map(distinct), [questions, exams]);

  const needle = q.toLowerCase();
  const c = questions.col;
  const rows = [];
  let asked = 0;
  for (let n = 0; n < questions.rows; n++) {
    if (!state.asked[n]) continue;
    asked++;
    const now = verdictAt(state.last[n]);
    if (verdict === "changed" ? !state.changes[n] : verdict && verdict !== "flipped" && now !== verdict) continue;
    if ((type && c.task_type[n] !== type) || (split && c.split[n] !== split)) continue;
    if (needle && !c.title[n].toLowerCase().includes(needle) && !c.id[n].toLowerCase().includes(needle)) continue;
    if (verdict === "flipped" && [now, ""].includes(verdictAt(before(n)))) continue;
    rows.push(n);
  }
  const history = (/** @type {number} */ n) => (lists.get(n) ?? []).filter((k) => askings.col.judged[k] !== null && askings.col.judged[k] <= seq && (examRow < 0 ? askings.col.exam[k] === null || askings.col.exam[state.last[n]] !== null : askings.col.exam[k] === examRow)).map((k) => askings.col.verdict[k]);
  return (
    <Section title="Questions" tools={<span class="muted">{rows.length === asked ? number(asked, "question") : `${count(rows.length)} of ${number(asked, "question")}`}</span>}>
      <div class="filters">
        <Search label="Search" value={q} placeholder="words or an id" />
        <Choice name="verdict" label="Verdict" value={verdict} choices={second === null ? KINDS.slice(0, -1) : KINDS} />
        <Choice name="type" label="Task type" value={type} choices={[["", "all"], ...choices[0]]} />
        <Choice name="split" label="Split" value={split} choices={[["", "all"], ...choices[1]]} />
        {exams.rows > 0 && <Choice name="exam" label="Exam" value={exam} choices={[["", "all"], ...choices[2]]} />}
      </div>
      {rows.length ? (
        <Long
          label="Questions"
          rows={rows}
          columns={[
            { name: "verdict", title: second === null ? "verdict" : "A", class: "narrow", cell: (n) => <Verdict of={verdictAt(state.last[n]) || "open"} /> },
            ...(second === null ? [] : [{ name: "b", title: "B", class: "narrow", cell: (/** @type {number} */ n) => (before(n) < 0 ? "–" : <Verdict of={verdictAt(before(n))} />) }]),
            { name: "question", class: "grow", cell: (n) => <A to={{ page: "questions", id: c.id[n], query: exam ? { ask: exam } : {} }} title={c.id[n]}><bdi>{c.title[n] || c.id[n]}</bdi></A> },
            { name: "history", class: "narrow", cell: (n) => <History verdicts={history(n)} /> },
            { name: "asked", class: "num", cell: (n) => count(state.asked[n]) },
            { name: "changes", class: "num", cell: (n) => (state.changes[n] ? count(state.changes[n]) : "–") },
            { name: "type", title: "task type", cell: (n) => <bdi>{c.task_type[n] ?? "–"}</bdi> },
            { name: "split", cell: (n) => c.split[n] },
            { name: "last", title: "last asked", cell: (n) => asked_(askings, exams, state.newestAsked[n]) },
          ]}
        />
      ) : (
        <Empty title={asked ? "No question fits these filters" : "Nothing was asked up to this moment"}>
          {asked ? <A to={{ query: { q: "", verdict: "", type: "", split: "", exam: "" } }}>Show all {count(asked)}</A> : "Move the handle below to the right."}
        </Empty>
      )}
    </Section>
  );
}

/** @param {import("../data.js").Table} askings @param {import("../data.js").Table} exams @param {number} n */
function asked_(askings, exams, n) {
  const exam = askings.col.exam[n];
  return exam === null ? when(askings.col.iteration[n]) : `exam ${exams.col.exam[exam]}`;
}

/** The newest verdicts as signs. @param {{verdicts: string[]}} props */
const History = ({ verdicts }) => (
  <span class="history" role="img" aria-label={verdicts.slice(-12).join(", ") || "none"}>
    {verdicts.length > 12 && "…"}
    {verdicts.slice(-12).map((verdict, n) => <Verdict key={n} of={verdict} bare />)}
  </span>
);
