/** Both bandits: what each arm is believed to be worth, and how often it was pulled. */
import { Fragment, h } from "preact";
import { useMemo } from "preact/hooks";
import { Chart, Posterior, beta } from "../charts";
import { at, distinct, grouped } from "../data";
import type { Table, Tables } from "../data";
import { A, bdi, muted } from "../marks";
import { Choice, Empty, Nothing, Plain, Section } from "../parts";
import { useView } from "../view";
import { count, decimal, number, words } from "../words";

const SHOWN = 24;
const COLOURS = ["accent", "second", "third", "fourth", "fifth", "sixth"];
const NOTE =
  "Each curve is what the run believes of an arm's chance to be right at this moment: Beta(α, β). The line is its mean, " +
  "the interval holds 90 %.";

export function Bandits({ t: { bandits: t } }: { t: Tables }) {
  const { seq, second, address } = useView();
  const { bandit = "", key = "" } = address.query;
  if (!t.rows) {
    const when = "Arms are pulled once questions are asked with memories in hand.";
    return <Empty title="No bandit chose anything in this run" children={when} />;
  }
  const c = t.col;
  const rows = at(t, seq);
  const name = (n: number) => `${c.bandit[n]}\n${c.key[n]}`;
  const then = new Map(second === null ? [] : at(t, second).map((n) => [`${name(n)}\n${c.arm[n]}`, n]));
  const wanted = rows.filter((n) => !bandit || c.bandit[n] === bandit);
  const pulls = (list: number[]) => list.reduce((sum, n) => sum + c.pulls[n], 0);
  const shown = wanted.filter((n) => !key || c.key[n] === key);
  const cards = [...grouped(shown, name).values()].sort((a, b) => pulls(b) - pulls(a));
  return (
    <Fragment>
      <Section title="Bandits" note={NOTE} tools={`${number(cards.length, "key")}, ${number(pulls(shown), "pull")}`}>
        <div class="filters">
          <Choice name="bandit" label="Bandit" of={distinct(c.bandit)} none="both" />
          <Choice name="key" label="Key" of={distinct(wanted.map((n) => c.key[n])).map((one) => [one, one])} />
        </div>
      </Section>
      {!cards.length && (
        <Nothing title="No arm was pulled up to this moment" known={rows.length} filters={["bandit", "key"]} />
      )}
      <div class="grid">
        {cards.slice(0, SHOWN).map((list) => (
          <section key={name(list[0])} class="card">
            <h2>
              <A to={{ query: { bandit: c.bandit[list[0]], key: c.key[list[0]] } }} children={bdi(c.key[list[0]])} />{" "}
              {muted(`${words(c.bandit[list[0]])}, ${number(pulls(list), "pull")}`)}
            </h2>
            <Arms c={c} list={list} was={(n) => then.get(`${name(n)}\n${c.arm[n]}`)} />
          </section>
        ))}
      </div>
      {cards.length > SHOWN && (
        <p class="note">{`The ${SHOWN} keys with most pulls of ${count(cards.length)}; choose one above.`}</p>
      )}
      {(bandit ? [bandit] : distinct(c.bandit)).map((one) => (
        <Over key={one} t={t} bandit={one} of={key} />
      ))}
    </Fragment>
  );
}

interface Armed {
  c: Record<string, any[]>;
  list: number[];
  /** The same arm at the other moment. */
  was: (n: number) => number | undefined;
}

function Arms({ c, list, was }: Armed) {
  const posterior = (n: number) => beta(c.alpha_micro[n] / 1e6, c.beta_micro[n] / 1e6);
  const arms = list.map((n) => ({ n, now: posterior(n), then: was(n) })).sort((p, q) => q.now.mean - p.now.mean);
  const rows = arms.map(({ n, now, then }) => [
    words(c.arm[n]),
    <Posterior now={now} was={then === undefined ? null : posterior(then)} />,
    decimal(now.mean),
    muted(`${decimal(now.low)}–${decimal(now.high)}`),
    [count(c.pulls[n]), then !== undefined && muted(` (${count(c.pulls[then])})`)],
  ]);
  return <Plain kind="arms" heads={["arm", "chance to be right, 0 to 1", "mean", "90 %", "pulls"]} rows={rows} />;
}

/** Pulls of each arm at the end of each iteration, of one key or all. */
function Over({ t, bandit, of }: { t: Table; bandit: string; of: string }) {
  const { index, seq } = useView();
  const ends = useMemo(() => index.markers.filter((one) => !one.phase && one.iteration !== null), [index]);
  const arms = useMemo(() => {
    const { from, to, arm, key, pulls, bandit: bandits } = t.col;
    const sums = new Map<string, number[]>();
    for (let n = 0; n < t.rows; n++) {
      if (bandits[n] !== bandit || (of && key[n] !== of)) continue;
      const sum = sums.get(arm[n]) ?? new Array<number>(ends.length).fill(0);
      sums.set(arm[n], sum);
      for (let k = ends.findIndex((end) => from[n] <= end.seq); k >= 0 && k < ends.length; k++)
        if (to[n] === null || ends[k].seq < to[n]) sum[k] += pulls[n];
        else break;
    }
    return [...sums].sort(([p], [q]) => (p < q ? -1 : 1));
  }, [t, bandit, of]);
  const x = ends.filter((end) => end.seq <= seq).map((end) => end.iteration ?? -1);
  if (x.length < 2) return null;
  const line = ([arm, y]: [string, number[]], k: number) => ({
    label: words(arm),
    colour: COLOURS[k % COLOURS.length],
    y: y.slice(0, x.length),
  });
  const what = of ? `Key ${of}` : "All keys together";
  return (
    <Section title={`Pulls of the ${words(bandit)} bandit`} note={`${what}, summed up to the end of each iteration.`}>
      <Chart label="Pulls" x={x} lines={arms.map(line)} format={count} />
    </Section>
  );
}
