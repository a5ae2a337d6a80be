/** The guard's verdicts: the same anchors before and after each iteration, in pairs. */
import { at, record, type Row, type Table, type Tables } from "../data";
import { A, Seq, moment, muted, question, ratio, toned, verdict } from "../marks";
import { Section, early } from "../parts";
import { facts, list, plain, tabled } from "../tables";
import { useView } from "../view";
import { chance, count, decimal, number, points, share, when } from "../words";

const NOTE = "Newest first. Better and worse count anchors whose verdict changed.";

export function Guard({ t: { guard, questions } }: { t: Tables }) {
  const { seq, address } = useView();
  const c = guard.col;
  const rows = at(guard, seq).reverse();
  if (!rows.length) return early("No verdict up to this moment");
  const n = rows.find((k) => String(c.iteration[k]) === address.id) ?? rows[0];
  const link = (k: number) => <A to={{ page: "guard", id: String(k) }} children={when(k)} />;
  return (
    <>
      <One one={record(guard, n)} questions={questions} />
      {tabled({ title: "All verdicts", note: NOTE, selected: n }, rows, [
        ["iteration", "", (k) => link(c.iteration[k]), (k) => c.iteration[k]],
        ["verdict", "", (k) => verdict(c.verdict[k]), (k) => c.verdict[k]],
        ["right", "num", (k) => ratio(c.correct[k], c.total[k]), (k) => c.correct[k] / c.total[k]],
        ["better", "num", (k) => count(c.better[k].length), (k) => c.better[k].length],
        ["worse", "num", (k) => count(c.worse[k].length), (k) => c.worse[k].length],
        ["p", "num", (k) => decimal(c.p_value[k], 3), (k) => c.p_value[k]],
        ["against", "", (k) => when(c.against[k]), (k) => c.against[k]],
        ["smallest drop noticed", "num", (k) => points(c.smallest_drop[k]), (k) => c.smallest_drop[k]],
        ["event", "num", (k) => <Seq seq={c.from[k]} />],
      ])}
    </>
  );
}

function One({ one, questions }: { one: Row; questions: Table }) {
  const [better, worse]: number[][] = [one.better, one.worse];
  const compared = better.length + worse.length + one.same;
  const before = one.against === null ? "before" : `at ${when(one.against)}`;
  const over = one.carried ? ` on the ${count(compared)} compared; the other ${count(one.carried)} carried` : "";
  const best = `${when(one.best)}: drop ${points(one.best_drop)}, p ${decimal(one.best_p_value, 4)}`;
  const note =
    `${number(compared - one.same, "anchor")} changed: ${better.length} better, ${worse.length} worse. By chance ` +
    `alone a fall at least as bad has ${chance(one.p_value)} (one-sided exact sign test).`;
  const alone = one.iteration < 0 ? "there is nothing before it" : "the guard compared shares of different questions";
  const anchor = (n: number) => question(questions.col.id[n], questions.col.title[n]);
  const anchors = (name: string, rows: number[]) => (
    <div>
      <h3>{[name, " ", muted(count(rows.length))]}</h3>
      {list("turned", rows.slice(0, 100), anchor, "No anchor.")}
    </div>
  );
  return (
    <Section title={[when(one.iteration), ": ", verdict(one.verdict)]} note={compared > 0 && note}>
      <div class="columns">
        {!compared && <p class="muted">Nothing is paired here: {alone}.</p>}
        {compared > 0 &&
          plain("pairs", [
            ["the same anchors", `right at ${when(one.iteration)}`, "wrong"],
            [`right ${before}`, count(one.same_right), toned("bad", `${count(worse.length)} worse`)],
            [`wrong ${before}`, toned("good", `${count(better.length)} better`), count(one.same - one.same_right)],
          ])}
        {facts([
          ["right", `${one.correct} of ${one.total}, ${share(one.correct, one.total)}`],
          ["change", `${one.drop < 0 ? "+" : ""}${points(0 - one.drop)}${over}`],
          ["p of the drop", decimal(one.p_value, 4)],
          one.best !== null && ["against the best", best],
          ["smallest drop it can notice", points(one.smallest_drop)],
          one.unpaired > 0 && ["unpaired", count(one.unpaired)],
          one.rolled_to !== null && ["rolled back to", moment(when(one.rolled_to))],
          ["recorded as event", <Seq seq={one.from} />],
        ])}
      </div>
      {compared > 0 && <div class="columns" children={[anchors("Better", better), anchors("Worse", worse)]} />}
    </Section>
  );
}
