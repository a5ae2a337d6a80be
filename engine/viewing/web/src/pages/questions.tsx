/** All questions, and what became of each by this moment. */
import { h } from "preact";
import { useMemo } from "preact/hooks";
import { needle } from "../address";
import { byQuestion, newest, titleOf } from "../asked";
import { all, distinct } from "../data";
import type { Tables } from "../data";
import { A, bdi, mark, question, verdict } from "../marks";
import { Choice, Empty, Nothing, Search, Section, Table } from "../parts";
import { useView } from "../view";
import { count, listed } from "../words";

const FILTERS = ["q", "verdict", "type", "split", "exam"];
const VERDICTS = ["wrong", "correct", "unanswered", ["changed", "verdict changed"]];

export function Questions({ t }: { t: Tables }) {
  const { index, seq, second, address } = useView();
  const { questions, askings, exams } = t;
  const { verdict: wanted = "", type = "", split = "", exam = "" } = address.query;
  const c = questions.col;
  const a = askings.col;
  const lists = byQuestion(askings);
  const examRow = exam ? (exams.col.exam?.indexOf(exam) ?? -1) : -1;

  // Of each question: its newest asking, the newest that is judged (of the run, else of an exam), and how it changed.
  const { last, asked, times, changes } = useMemo(() => {
    const [last, asked] = [new Int32Array(questions.rows).fill(-1), new Int32Array(questions.rows).fill(-1)];
    const [times, changes] = [new Uint32Array(questions.rows), new Uint32Array(questions.rows)];
    for (let k = 0; k < askings.rows; k++) {
      if (a.from[k] > seq || (examRow >= 0 && a.exam[k] !== examRow)) continue;
      const n = a.question[k];
      times[n] += Number(!a.carried[k]);
      if (!a.carried[k] || asked[n] < 0) asked[n] = k;
      const before = last[n];
      if (a.judged[k] === null || a.judged[k] > seq) continue;
      if (before >= 0 && a.exam[before] === null && a.exam[k] !== null) continue;
      if (before >= 0 && a.verdict[before] !== a.verdict[k]) changes[n]++;
      last[n] = k;
    }
    return { last, asked, times, changes };
  }, [t, seq, examRow]);
  const now = (n: number): string => (last[n] < 0 ? "" : a.verdict[last[n]]);
  const before = (n: number): string => {
    const k = second === null ? -1 : newest(askings, lists.get(n) ?? [], second, last[n] < 0 ? null : a.exam[last[n]]);
    return k < 0 ? "" : a.verdict[k];
  };
  const choices = useMemo(() => [distinct(c.task_type), distinct(c.split), distinct(exams.col.exam)], [t]);
  if (!questions.rows) {
    const learned = <A to={{ page: "memories" }} children="What its episodes taught" />;
    const begin = `Questions appear once an iteration has begun: mage-es resume ${index.named}`;
    return <Empty title="No question was asked in this run" children={index.kind === "episodes" ? learned : begin} />;
  }

  const text = needle(address.query);
  const known = all(questions).filter((n) => asked[n] >= 0);
  const rows = known.filter((n) => {
    if (wanted === "changed" ? !changes[n] : wanted && wanted !== "flipped" && now(n) !== wanted) return false;
    if ((type && c.task_type[n] !== type) || (split && c.split[n] !== split)) return false;
    if (text && !`${c.title[n]}\n${c.id[n]}`.toLowerCase().includes(text)) return false;
    return wanted !== "flipped" || ![now(n), ""].includes(before(n));
  });
  const none = known.length ? "No question fits these filters" : "Nothing was asked up to this moment";
  const history = (n: number) =>
    (lists.get(n) ?? [])
      .filter((k) => a.judged[k] !== null && a.judged[k] <= seq)
      .filter((k) => (examRow < 0 ? a.exam[k] === null || a.exam[last[n]] !== null : a.exam[k] === examRow))
      .map((k) => a.verdict[k] as string);
  return (
    <Section title="Questions" tools={listed(rows.length, known.length, "question")}>
      <div class="filters">
        <Search hint="words or an id" />
        <Choice
          name="verdict"
          label="Verdict"
          of={second === null ? VERDICTS : [...VERDICTS, ["flipped", "differs between A and B"]]}
        />
        <Choice name="type" label="Task type" of={choices[0]} />
        <Choice name="split" label="Split" of={choices[1]} />
        {exams.rows > 0 && <Choice name="exam" label="Exam" of={choices[2]} />}
      </div>
      <Table
        label="Questions"
        rows={rows}
        none={<Nothing title={none} known={known.length} filters={FILTERS} />}
        columns={[
          [second === null ? "verdict" : "A", "narrow", (n) => verdict(now(n) || "open")],
          second !== null && ["B", "narrow", (n) => (before(n) ? verdict(before(n)) : "–")],
          ["question", "grow", (n) => question(c.id[n], c.title[n], exam ? { ask: exam } : undefined)],
          ["history", "narrow", (n) => <History verdicts={history(n)} />],
          ["asked", "num", (n) => count(times[n])],
          ["changes", "num", (n) => (changes[n] ? count(changes[n]) : "–")],
          ["task type", "", (n) => bdi(c.task_type[n] ?? "–")],
          choices[1].length > 1 && ["split", "", (n) => c.split[n]],
          ["last asked", "", (n) => titleOf(t, asked[n])],
        ]}
      />
    </Section>
  );
}

/** The newest verdicts as signs. */
const History = ({ verdicts }: { verdicts: string[] }) => (
  <span class="history" role="img" aria-label={verdicts.slice(-12).join(", ") || "none"}>
    {verdicts.length > 12 && "…"}
    {verdicts.slice(-12).map(mark)}
  </span>
);
