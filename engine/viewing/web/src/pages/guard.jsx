/** The guard's verdicts: the same anchors before and after each iteration, in pairs. */
import { Fragment, h } from "preact";
import { record } from "../data.js";
import { A, Empty, Facts, Loading, Section, Seq, Table, Verdict } from "../parts.jsx";
import { useTables, useView } from "../view.js";
import { count, decimal, number, share, when } from "../words.js";

export function Guard() {
  const { index, seq, address } = useView();
  const { value, error } = useTables(index, "guard", "questions");
  if (!value) return <Loading error={error} />;
  const { guard, questions } = value;
  const c = guard.col;
  const rows = Array.from({ length: guard.rows }, (_, n) => n).filter((n) => c.from[n] <= seq);
  if (!rows.length)
    return <Empty title={guard.rows ? "No verdict up to this moment" : "The guard gave no verdict in this run"}>{guard.rows ? "Move the handle below to the right." : <span>It judges each iteration that closes, where anchors are set: <code>mage-es resume {index.run}</code></span>}</Empty>;
  const wanted = rows.findLast((n) => String(c.iteration[n] ?? -1) === address.id);
  const n = wanted ?? rows[rows.length - 1];
  return (
    <Fragment>
      <Pairs one={record(guard, n)} questions={questions} />
      <Section title="All verdicts" note="Newest first. Better and worse count anchors whose verdict turned; only these tell.">
        <Table
          label="Verdicts of the guard"
          selected={n}
          rows={[...rows].reverse()}
          columns={[
            { name: "iteration", cell: (k) => <A to={{ page: "guard", id: String(c.iteration[k] ?? -1) }}>{when(c.iteration[k])}</A> },
            { name: "verdict", cell: (k) => <Verdict of={c.verdict[k]} /> },
            { name: "right", class: "num", cell: (k) => <Fragment><span class="muted">{c.correct[k]}/{c.total[k]}</span> {share(c.correct[k], c.total[k])}</Fragment> },
            { name: "better", class: "num", cell: (k) => count(c.better[k]?.length) },
            { name: "worse", class: "num", cell: (k) => count(c.worse[k]?.length) },
            { name: "p", class: "num", cell: (k) => decimal(c.p_value[k], 3) },
            { name: "against", cell: (k) => against(c.against[k]) },
            { name: "noticed", title: "smallest drop noticed", class: "num", cell: (k) => points(c.smallest_drop[k]) },
            { name: "event", class: "num", cell: (k) => <Seq seq={c.from[k]} /> },
          ]}
        />
      </Section>
    </Fragment>
  );
}

/** @param {any} one */
const against = (one) => (one === null || one === undefined ? "–" : typeof one === "number" ? when(one) : String(one));

/** @param {number | null} drop */
const points = (drop) => (drop === null || drop === undefined ? "–" : `${decimal(100 * drop, 1)} points`);

/** @param {{one: Record<string, any>, questions: import("../data.js").Table}} props */
function Pairs({ one, questions }) {
  const better = one.better ?? [];
  const worse = one.worse ?? [];
  const both = one.correct - better.length; // right after, less those that turned right
  const neither = (one.same ?? 0) - both;
  const paired = better.length + worse.length + (one.same ?? 0) > 0;
  return (
    <Section title={<Fragment>{when(one.iteration)}: <Verdict of={one.verdict} /></Fragment>} note={sentence(one)}>
      <div class="columns">
        {paired ? (
          <table class="plain pairs">
            <caption>The same anchors, {one.against === null ? "before" : against(one.against)} and {when(one.iteration)}</caption>
            <thead><tr><td /><th scope="col" class="num">right after</th><th scope="col" class="num">wrong after</th></tr></thead>
            <tbody>
              <tr><th scope="row">right before</th><td class="num">{both >= 0 && neither >= 0 ? count(both) : "–"}</td><td class="num bad"><strong>{count(worse.length)}</strong> worse</td></tr>
              <tr><th scope="row">wrong before</th><td class="num good"><strong>{count(better.length)}</strong> better</td><td class="num">{both >= 0 && neither >= 0 ? count(neither) : "–"}</td></tr>
            </tbody>
          </table>
        ) : (
          <p class="muted">Nothing is paired here: {one.iteration < 0 ? "there is nothing before it" : "the guard compared shares of different questions"}.</p>
        )}
        <Facts
          rows={[
            ["right", `${one.correct} of ${one.total}, ${share(one.correct, one.total)}`],
            ["drop", points(one.drop)],
            ["p of the drop", decimal(one.p_value, 4)],
            ["against the best", one.best === null || one.best === undefined ? "–" : `${against(one.best)}: drop ${points(one.best_drop)}, p ${decimal(one.best_p_value, 4)}`],
            ["smallest drop it can notice", points(one.smallest_drop)],
            ["unpaired", count(one.unpaired ?? 0)],
            ...(one.rolled_to !== null && one.rolled_to !== undefined ? [["rolled back to", <A to={{ query: { at: when(one.rolled_to) } }}>{when(one.rolled_to)}</A>]] : []),
            ["recorded as", <span>event <Seq seq={one.from} /></span>],
          ]}
        />
      </div>
      {paired && <div class="columns">
        <Turned title="Better" rows={better} questions={questions} empty="No anchor turned right." />
        <Turned title="Worse" rows={worse} questions={questions} empty="No anchor turned wrong." />
      </div>}
    </Section>
  );
}

/** @param {Record<string, any>} one */
function sentence(one) {
  if (!one.better?.length && !one.worse?.length && !one.same) return undefined;
  const [better, worse] = [one.better?.length ?? 0, one.worse?.length ?? 0];
  return `${number(better + worse, "anchor")} turned: ${better} better, ${worse} worse. By chance alone a fall at least as bad has p = ${decimal(one.p_value, 3)} (one-sided exact sign test).`;
}

/** @param {{title: string, rows: number[], questions: import("../data.js").Table, empty: string}} props */
const Turned = ({ title, rows, questions, empty }) => (
  <div>
    <h3>{title} <span class="muted">{count(rows.length)}</span></h3>
    {rows.length ? (
      <ul class="turned">{rows.slice(0, 100).map((n) => <li key={n}><A to={{ page: "questions", id: questions.col.id[n] }}><bdi>{questions.col.title[n] || questions.col.id[n]}</bdi></A></li>)}</ul>
    ) : (
      <p class="muted">{empty}</p>
    )}
  </div>
);

