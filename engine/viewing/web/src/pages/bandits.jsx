/** Both bandits: what each arm is believed to be worth, and how often it was pulled. */
import { Fragment, h } from "preact";
import { Chart, Posterior, beta } from "../charts.jsx";
import { at } from "../data.js";
import { A, Choice, Empty, Loading, Section } from "../parts.jsx";
import { useTables, useView } from "../view.js";
import { count, decimal, number, words } from "../words.js";

export function Bandits() {
  const { index, seq, other, address } = useView();
  const { value, error } = useTables(index, "bandits");
  if (!value) return <Loading error={error} />;
  const t = value.bandits;
  if (!t.rows) return <Empty title="No bandit chose anything in this run">Arms are pulled once questions are asked with memories in hand.</Empty>;
  const c = t.col;
  const rows = at(t, seq);
  const second = other && other.index === index ? new Map(at(t, other.seq).map((n) => [`${c.bandit[n]} ${c.key[n]} ${c.arm[n]}`, n])) : null;
  const { bandit = "", key = "" } = address.query;
  const bandits = [...new Set(c.bandit)];
  const shown = rows.filter((n) => !bandit || c.bandit[n] === bandit);
  /** @type {Map<string, number[]>} */
  const groups = new Map();
  for (const n of shown) {
    const list = groups.get(`${c.bandit[n]}\n${c.key[n]}`);
    if (list) list.push(n);
    else groups.set(`${c.bandit[n]}\n${c.key[n]}`, [n]);
  }
  const pulls = (/** @type {number[]} */ list) => list.reduce((sum, n) => sum + c.pulls[n], 0);
  const sorted = [...groups].sort(([, a], [, b]) => pulls(b) - pulls(a));
  const listed = key ? sorted.filter(([name]) => name.split("\n")[1] === key) : sorted;
  const keys = [...new Set(shown.map((n) => c.key[n]))].sort();
  return (
    <Fragment>
      <Section title="Bandits" note="Each curve is what the run believes of an arm's chance to be right at this moment: Beta(α, β). The line is its mean, the interval holds 90 %." tools={<span class="muted">{number(listed.length, "key")}, {number(pulls(shown), "pull")}</span>}>
        <div class="filters">
          <Choice name="bandit" label="Bandit" value={bandit} choices={[["", "both"], ...bandits.map((one) => /** @type {[string, string]} */ ([one, words(one)]))]} />
          <Choice name="key" label="Key" value={key} choices={[["", "all"], ...keys.map((one) => /** @type {[string, string]} */ ([one, one]))]} />
        </div>
      </Section>
      {!listed.length && <Empty title="No arm was pulled up to this moment">{rows.length ? <A to={{ query: { bandit: "", key: "" } }}>Show all keys</A> : "Move the handle below to the right."}</Empty>}
      <div class="grid">
        {listed.slice(0, SHOWN).map(([name, list]) => {
          const [which, of] = name.split("\n");
          return (
            <section key={name} class="card">
              <h2><A to={{ query: { bandit: which, key: of } }}><bdi>{of}</bdi></A> <span class="muted">{words(which)}, {number(pulls(list), "pull")}</span></h2>
              <table class="plain arms">
                <thead><tr><th scope="col">arm</th><th scope="col">chance to be right, 0 to 1</th><th scope="col" class="num">mean</th><th scope="col" class="num">90 %</th><th scope="col" class="num">pulls</th></tr></thead>
                <tbody>
                  {[...list].sort((p, q) => mean(c, q) - mean(c, p)).map((n) => {
                    const [a, b] = [c.alpha_micro[n] / 1e6, c.beta_micro[n] / 1e6];
                    const was = second?.get(`${c.bandit[n]} ${c.key[n]} ${c.arm[n]}`);
                    const now = beta(a, b);
                    return (
                      <tr key={c.arm[n]}>
                        <th scope="row">{words(c.arm[n])}</th>
                        <td class="curve"><Posterior alpha={a} beta={b} was={was === undefined ? null : { alpha: c.alpha_micro[was] / 1e6, beta: c.beta_micro[was] / 1e6 }} label={`mean ${decimal(now.mean)}, 90 % from ${decimal(now.low)} to ${decimal(now.high)}`} /></td>
                        <td class="num">{decimal(now.mean)}</td>
                        <td class="num muted">{decimal(now.low)}–{decimal(now.high)}</td>
                        <td class="num">{count(c.pulls[n])}{was !== undefined && <span class="muted"> ({count(c.pulls[was])})</span>}</td>
                      </tr>
                    );
                  })}
                </tbody>
              </table>
            </section>
          );
        })}
      </div>
      {listed.length > SHOWN && <p class="note">The {SHOWN} keys with most pulls of {count(listed.length)}; choose one above.</p>}
      <Over t={t} bandit={bandit} of={key} />
    </Fragment>
  );
}

/** @param {Record<string, any[]>} c @param {number} n */
const mean = (c, n) => c.alpha_micro[n] / (c.alpha_micro[n] + c.beta_micro[n]);

const SHOWN = 24;
const COLOURS = ["accent", "second", "third", "fourth", "fifth", "sixth"];

/**
 * Pulls of each arm at some moments: each row adds what it has where it begins, and takes it away where it ends.
 * @param {import("../data.js").Table} t @param {string} bandit @param {string} of @param {number[]} moments @returns {Map<string, number[]>}
 */
function summed({ rows, col: c }, bandit, of, moments) {
  const first = (/** @type {number} */ seq) => {
    let [low, high] = [0, moments.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (moments[middle] < seq) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  /** @type {Map<string, number[]>} */
  const steps = new Map();
  for (let n = 0; n < rows; n++) {
    if (c.bandit[n] !== bandit || (of && c.key[n] !== of)) continue;
    let list = steps.get(c.arm[n]);
    if (!list) steps.set(c.arm[n], (list = new Array(moments.length + 1).fill(0)));
    list[first(c.from[n])] += c.pulls[n];
    if (c.to[n] !== null) list[first(c.to[n])] -= c.pulls[n];
  }
  const sums = (/** @type {number[]} */ list) => {
    let sum = 0;
    return list.slice(0, -1).map((step) => (sum += step));
  };
  return new Map([...steps].sort(([p], [q]) => (p < q ? -1 : 1)).map(([arm, list]) => [arm, sums(list)]));
}

/** Pulls of each arm at the end of each iteration. @param {{t: import("../data.js").Table, bandit: string, of: string}} props */
function Over({ t, bandit, of }) {
  const { index, seq } = useView();
  const c = t.col;
  const ends = index.markers.filter((marker) => !marker.phase && marker.iteration !== null && marker.seq <= seq);
  if (ends.length < 2) return null;
  const which = bandit ? [bandit] : [...new Set(c.bandit)];
  return (
    <Fragment>
      {which.map((one) => {
        const lines = [...summed(t, one, of, ends.map((end) => end.seq))].map(([arm, y], k) => ({ label: words(arm), colour: COLOURS[k % 6], dash: k >= 6 ? [3, 3] : undefined, y }));
        return (
          <Section key={one} title={`Pulls of the ${words(one)} bandit`} note={of ? `Key ${of}, summed up to the end of each iteration.` : "All keys together, summed up to the end of each iteration."}>
            <Chart x={ends.map((end) => end.iteration ?? -1)} lines={lines} label={`Pulls: ${lines.map((line) => `${line.label} ${line.y.at(-1)}`).join(", ")}`} format={(v) => count(v)} name={(v) => (v < 0 ? "start" : String(v))} />
          </Section>
        );
      })}
    </Fragment>
  );
}

