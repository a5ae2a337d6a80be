/** The guard's verdicts: the same anchors before and after each iteration, in pairs. */
import { Fragment, h } from "preact";
import { all, record } from "../data";
import type { Row, Table as Data, Tables } from "../data";
import { A, Seq, muted, question, ratio, verdict } from "../marks";
import { Empty, Facts, List, Plain, Section, Table } from "../parts";
import { useView } from "../view";
import { chance, count, decimal, number, points, share, when } from "../words";

export function Guard({ t: { guard, questions } }: { t: Tables }) {
  const { index, seq, address } = useView();
  const c = guard.col;
  const rows = all(guard).filter((n) => c.from[n] <= seq);
  if (!rows.length) {
    if (guard.rows)
      return <Empty title="No verdict up to this moment" children="Move the handle below to the right." />;
    const how = `It judges each iteration that closes, where anchors are set: mage-es resume ${index.named}`;
    return <Empty title="The guard gave no verdict in this run" children={index.kind !== "baseline" && how} />;
  }
  const n = rows.findLast((k) => String(c.iteration[k] ?? -1) === address.id) ?? rows[rows.length - 1];
  const to = (k: number) => ({ page: "guard", id: String(c.iteration[k] ?? -1) });
  return (
    <Fragment>
      <One one={record(guard, n)} questions={questions} />
      <Section title="All verdicts" note="Newest first. Better and worse count anchors whose verdict changed.">
        <Table
          label="Verdicts of the guard"
          selected={n}
          rows={[...rows].reverse()}
          columns={[
            ["iteration", "", (k) => <A to={to(k)} children={when(c.iteration[k])} />],
            ["verdict", "", (k) => verdict(c.verdict[k])],
            ["right", "num", (k) => ratio(c.correct[k], c.total[k])],
            ["better", "num", (k) => count(c.better[k]?.length)],
            ["worse", "num", (k) => count(c.worse[k]?.length)],
            ["p", "num", (k) => decimal(c.p_value[k], 3)],
            ["against", "", (k) => against(c.against[k])],
            ["smallest drop noticed", "num", (k) => points(c.smallest_drop[k])],
            ["event", "num", (k) => <Seq seq={c.from[k]} />],
          ]}
        />
      </Section>
    </Fragment>
  );
}

const against = (one: any) => (one == null ? "–" : typeof one === "number" ? when(one) : String(one));

function One({ one, questions }: { one: Row; questions: Data }) {
  const better: number[] = one.better ?? [];
  const worse: number[] = one.worse ?? [];
  const turned = better.length + worse.length;
  const same: number = one.same ?? 0;
  const how = `By chance alone a fall at least as bad has ${chance(one.p_value)} (one-sided exact sign test).`;
  const note = `${number(turned, "anchor")} changed: ${better.length} better, ${worse.length} worse. ${how}`;
  const alone = one.iteration < 0 ? "there is nothing before it" : "the guard compared shares of different questions";
  const best = `${against(one.best)}: drop ${points(one.best_drop)}, p ${decimal(one.best_p_value, 4)}`;
  const before = one.against === null ? "before" : `at ${against(one.against)}`;
  const over = one.carried ? ` on the ${count(turned + same)} compared; the other ${count(one.carried)} carried` : "";
  const change = `${one.drop < 0 ? "+" : ""}${points(0 - one.drop)}${over}`;
  const title = (
    <Fragment>
      {when(one.iteration)}: {verdict(one.verdict)}
    </Fragment>
  );
  const list = (name: string, rows: number[]) => (
    <div>
      <h3>
        {name} {muted(count(rows.length))}
      </h3>
      {!rows.length && <p class="muted">No anchor.</p>}
      <List
        kind="turned"
        items={rows.slice(0, 100).map((n) => question(questions.col.id[n], questions.col.title[n]))}
      />
    </div>
  );
  return (
    <Section title={title} note={turned + same > 0 && note}>
      <div class="columns">
        {turned + same > 0 ? (
          <Plain
            kind="pairs"
            heads={["the same anchors", `right at ${when(one.iteration)}`, "wrong"]}
            rows={[
              [`right ${before}`, count(one.same_right), <span class="bad">{count(worse.length)} worse</span>],
              [
                `wrong ${before}`,
                <span class="good">{count(better.length)} better</span>,
                count(same - one.same_right),
              ],
            ]}
          />
        ) : (
          <p class="muted">Nothing is paired here: {alone}.</p>
        )}
        <Facts
          rows={[
            ["right", `${one.correct} of ${one.total}, ${share(one.correct, one.total)}`],
            ["change", change],
            ["p of the drop", decimal(one.p_value, 4)],
            ["against the best", one.best == null ? "–" : best],
            ["smallest drop it can notice", points(one.smallest_drop)],
            one.unpaired > 0 && ["unpaired", count(one.unpaired)],
            one.rolled_to != null && [
              "rolled back to",
              <A to={{ query: { at: when(one.rolled_to) } }} children={when(one.rolled_to)} />,
            ],
            ["recorded as event", <Seq seq={one.from} />],
          ]}
        />
      </div>
      {turned + same > 0 && (
        <div class="columns">
          {list("Better", better)}
          {list("Worse", worse)}
        </div>
      )}
    </Section>
  );
}
