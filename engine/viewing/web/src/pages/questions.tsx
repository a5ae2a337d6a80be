/** All questions, and what became of each by this moment. */
import { useMemo } from "preact/hooks";
import { byQuestion, newest } from "../asked";
import { all, distinct, type Tables } from "../data";
import { bdi, mark, question, verdict } from "../marks";
import { listing } from "../tables";
import { useView } from "../view";
import { count } from "../words";

export function Questions({ t: { questions, askings } }: { t: Tables }) {
  const { seq, second, address } = useView();
  const { exam = "" } = address.query;
  const c = questions.col;
  const a = askings.col;
  const lists = byQuestion(askings);
  const judged = (k: number) => a.judged[k] !== null && a.judged[k] <= seq;

  // Of each question: its newest asking, the newest that is judged (of the run, else of an exam), and how it changed.
  const { last, asked, times, changes } = useMemo(() => {
    const [last, asked] = [new Int32Array(questions.rows).fill(-1), new Int32Array(questions.rows).fill(-1)];
    const [times, changes] = [new Uint32Array(questions.rows), new Uint32Array(questions.rows)];
    for (let k = 0; k < askings.rows; k++) {
      if (a.from[k] > seq || (exam && a.exam[k] !== exam)) continue;
      const n = a.question[k];
      times[n] += Number(!a.carried[k]);
      if (!a.carried[k] || asked[n] < 0) asked[n] = k;
      const before = last[n];
      if (!judged(k) || (before >= 0 && !a.exam[before] && a.exam[k])) continue;
      if (before >= 0 && a.verdict[before] !== a.verdict[k]) changes[n]++;
      last[n] = k;
    }
    return { last, asked, times, changes };
  }, [questions, seq, exam]);
  const now = (n: number): string => a.verdict[last[n]] ?? "open";
  const series = (n: number): string => a.exam[last[n]] ?? "";
  const before = (n: number): string =>
    second === null ? "" : (a.verdict[newest(askings, lists.get(n) ?? [], second, series(n))] ?? "");
  const flipped = (n: number) => !["", now(n)].includes(before(n)) && "differs_at_B";
  /** The newest verdicts of a question as signs. */
  const history = (n: number) => {
    const mixed = !exam && series(n); // it was asked in exams only
    const rows = (lists.get(n) ?? []).filter((k: number) => judged(k) && (mixed || a.exam[k] === exam));
    const newest: string[] = rows.slice(-12).map((k: number) => a.verdict[k]);
    return (
      <span class="history" role="img" aria-label={newest.join(", ") || "none"}>
        {rows.length > newest.length && "…"}
        {newest.map(mark)}
      </span>
    );
  };
  const exams = useMemo(() => distinct(a.exam), [askings]);
  return listing({
    title: "Questions",
    one: "question",
    known: all(questions).filter((n) => asked[n] >= 0),
    early: "Nothing was asked up to this moment",
    search: [
      "words of the question, or an id",
      (n) => [c.title[n], c.id[n]],
      ["wordings", (t, n) => [t.col.question[n], t.col.context[n]]],
    ],
    filters: [
      ["verdict", "Verdict", (n) => [now(n), changes[n] > 0 && "changed", flipped(n)]],
      ["type", "Task type", (n) => c.task_type[n]],
      ["split", "Split", (n) => c.split[n]],
      ["exam", "Exam", () => exam, exams],
    ],
    columns: [
      [second === null ? "verdict" : "A", "narrow", (n) => verdict(now(n)), now],
      second !== null && ["B", "narrow", (n) => (before(n) ? verdict(before(n)) : "–"), before],
      ["question", "grow", (n) => question(c.id[n], c.title[n], exam ? { ask: exam } : undefined), (n) => c.title[n]],
      ["history", "narrow", (n) => history(n)],
      ["asked", "num", (n) => count(times[n]), (n) => times[n]],
      ["changes", "num", (n) => (changes[n] ? count(changes[n]) : "–"), (n) => changes[n]],
      ["task type", "", (n) => bdi(c.task_type[n] || "–"), (n) => c.task_type[n]],
      ["split", "", (n) => c.split[n], (n) => c.split[n]],
      ["last asked", "", (n) => a.title[asked[n]], (n) => asked[n]],
    ],
  });
}
