/** Both bandits: what each arm is believed to be worth, and how often it was pulled. */
import { useMemo } from "preact/hooks";
import { Chart, Posterior, beta } from "../charts";
import { at, distinct, grouped, type Table, type Tables } from "../data";
import { A, bdi, muted } from "../marks";
import { Choice, Section } from "../parts";
import { plain, unfit } from "../tables";
import { useView } from "../view";
import { count, decimal, number, when, words } from "../words";

const SHOWN = 24;
const HEADS = ["arm", "chance to be right, 0 to 1", "mean", "90 %", "pulls"];
const INHERITED = "Its curves began with what the skill it was split from had learned:";
const NOTE =
  "Each curve is what the run believes of an arm's chance to be right at this moment: Beta(α, β). The line is its mean, " +
  "the interval holds 90 %.";

export function Bandits({ t: { bandits: t } }: { t: Tables }) {
  const { seq, second, address } = useView();
  const { bandit = "", key = "" } = address.query;
  const c = t.col;
  const rows = at(t, seq);
  const name = (n: number) => `${c.bandit[n]}\n${c.key[n]}`;
  const wanted = rows.filter((n) => !bandit || c.bandit[n] === bandit);
  const shown = wanted.filter((n) => !key || c.key[n] === key);
  const pulls = (list: number[]) => list.reduce((sum, n) => sum + c.own[n], 0);
  const cards = [...grouped(shown, name).values()].sort((a, b) => pulls(b) - pulls(a));
  const id = (n: number) => `${name(n)}\n${c.arm[n]}`;
  const then = new Map(second === null ? [] : at(t, second).map((n) => [id(n), n]));
  const posterior = (n: number) => beta(c.alpha_micro[n] / 1e6, c.beta_micro[n] / 1e6);
  const arm = (n: number) => {
    const [now, was] = [posterior(n), then.get(id(n))];
    return [
      words(c.arm[n]),
      <Posterior now={now} was={was === undefined ? null : posterior(was)} />,
      decimal(now.mean),
      muted(`${decimal(now.low)}–${decimal(now.high)}`),
      [count(c.own[n]), was !== undefined && muted(` (${count(c.own[was])})`)],
    ];
  };
  const given = (list: number[]) => list.reduce((sum, n) => sum + c.pulls[n] - c.own[n], 0);
  const mean = (n: number) => c.alpha_micro[n] / (c.alpha_micro[n] + c.beta_micro[n]);
  const card = (list: number[]) => (
    <section key={name(list[0])} class="card">
      <h2>
        <A to={{ query: { bandit: c.bandit[list[0]], key: c.key[list[0]] } }} children={bdi(c.key[list[0]])} />{" "}
        {muted(`${words(c.bandit[list[0]])}, ${number(pulls(list), "pull")}`)}
      </h2>
      {plain("arms", [HEADS, ...list.sort((p, q) => mean(q) - mean(p)).map(arm)])}
      {given(list) > 0 && <p class="note">{`${INHERITED} ${number(given(list), "pull")}, discounted.`}</p>}
    </section>
  );
  return (
    <>
      <Section title="Bandits" note={NOTE} tools={`${number(cards.length, "key")}, ${number(pulls(shown), "pull")}`}>
        <div class="filters">
          <Choice name="bandit" label="Bandit" of={distinct(c.bandit)} none="both" />
          <Choice name="key" label="Key" of={distinct(wanted.map((n) => c.key[n]))} />
        </div>
      </Section>
      {!cards.length && unfit("arm", "No arm was pulled up to this moment", rows.length, "bandit", "key")}
      <div class="grid">{cards.slice(0, SHOWN).map(card)}</div>
      {cards.length > SHOWN && (
        <p class="note">{`The ${SHOWN} keys with most pulls of ${count(cards.length)}; choose one above.`}</p>
      )}
      {(bandit ? [bandit] : distinct(c.bandit)).map((one) => (
        <Over key={one} t={t} bandit={one} of={key} />
      ))}
    </>
  );
}

/** Pulls of each arm at the end of each iteration, of one key or all. */
function Over({ t, bandit, of }: { t: Table; bandit: string; of: string }) {
  const { index, seq, go } = useView();
  const ends = useMemo(() => index.markers.filter((one) => !one.phase && one.iteration !== null), [index]);
  const arms = useMemo(() => {
    const { from, to, arm, key, own, bandit: bandits } = t.col;
    const sums: Record<string, number[]> = {};
    for (let n = 0; n < t.rows; n++) {
      if (bandits[n] !== bandit || (of && key[n] !== of)) continue;
      const sum = (sums[arm[n]] ??= new Array<number>(ends.length).fill(0));
      const first = ends.findIndex((end) => from[n] <= end.seq);
      for (let k = first; k >= 0 && k < ends.length && (to[n] === null || ends[k].seq < to[n]); k++) sum[k] += own[n];
    }
    return sums;
  }, [t, bandit, of]);
  const x = ends.filter((end) => end.seq <= seq).map((end) => end.iteration ?? -1);
  const line = (arm: string) => ({ label: words(arm), y: arms[arm].slice(0, x.length) });
  const note = `${of ? `Key ${of}` : "All keys together"}, summed up to the end of each iteration.`;
  const pick = (k: number) => go({ query: { at: when(k) } });
  if (x.length < 2) return null;
  return (
    <Section title={`Pulls of the ${words(bandit)} bandit`} note={note}>
      <Chart label="Pulls" x={x} lines={Object.keys(arms).sort().map(line)} format={count} pick={pick} />
    </Section>
  );
}
