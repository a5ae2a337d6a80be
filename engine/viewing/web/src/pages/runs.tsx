/** Every run that is here: what it gained, at what cost, how far it is; two of them to compare. */
import { useEffect, useState } from "preact/hooks";
import { changed } from "../address";
import { chunk, type Row } from "../data";
import { A, bdi, muted, verdict } from "../marks";
import { Section } from "../parts";
import { table } from "../tables";
import { useView } from "../view";
import { count, decimal, dollars, number, share, time } from "../words";

const AT_ONCE = 4; // cards that are read side by side
const NOTE =
  "The gain is that of the exam of the newest state over the exam of the start, in points with its 95 % interval. " +
  "Anchors are those of the last whole iteration. The cost is that of the run, without its exams.";

/** What is known of each run, which comes one by one. */
function useCards(names: string[]) {
  const [cards, set] = useState<Record<string, Row>>({});
  useEffect(() => {
    let wanted = true;
    const left = [...names];
    const read = async (): Promise<void> => {
      const name = left.shift();
      if (!name || !wanted) return;
      const card = await chunk(`${name}/card`).catch((error: Error) => ({ state: "unread", problem: error.message }));
      if (wanted) set((old) => ({ ...old, [name]: card }));
      return read();
    };
    for (let n = 0; n < AT_ONCE; n++) read();
    return () => void (wanted = false);
  }, [names.join("\n")]);
  return cards;
}

export function Runs() {
  const { runs, address, go } = useView();
  const names: string[] = runs.map(({ run }) => run);
  const cards = useCards(names);
  const picked = (address.query.pick ?? "").split(" ").filter((name) => names.includes(name));
  const pick = (name: string) => {
    const rest = picked.filter((one) => one !== name);
    // Of three the first one goes.
    const now = rest.length < picked.length ? rest : [...picked, name].slice(-2);
    go({ query: { pick: now.join(" ") } }, true);
  };
  const card = (n: number): Row => cards[names[n]] ?? {};
  const link = (n: number) => <A to={{ run: names[n], page: "overview" }} children={bdi(names[n])} />;
  const box = (n: number) => {
    const label = `Compare ${names[n]}`;
    return (
      <input type="checkbox" aria-label={label} checked={picked.includes(names[n])} onChange={() => pick(names[n])} />
    );
  };
  const state = (n: number) => (card(n).state ? verdict(card(n).state) : muted("reading …"));
  const gain = (n: number) => {
    const { gain, low, high } = card(n);
    if (gain == null) return "–";
    return [`${gain > 0 ? "+" : ""}${decimal(gain, 1)}`, muted(` ${decimal(low, 1)} to ${decimal(high, 1)}`)];
  };
  const exam = (n: number) => {
    const [before, after] = card(n).shares ?? [];
    return before === undefined ? "–" : `${share(before, 1, 0)} → ${share(after, 1, 0)}`;
  };
  const done = (n: number) => {
    const { iterations_done, iterations, baseline } = card(n);
    return baseline
      ? bdi(`baseline ${baseline}`)
      : iterations
        ? `${count(iterations_done)} of ${count(iterations)}`
        : "–";
  };
  const right = (n: number) => card(n).correct / card(n).total;
  const problems = names.filter((name) => cards[name]?.problem);
  return (
    <Section title="Runs" note={NOTE} tools={number(names.length, "run")}>
      <Picked picked={picked} cards={cards} />
      {table({ label: "Runs", height: Math.max(360, innerHeight - 260) }, names.length, [
        ["pick", "narrow", box],
        ["run", "grow", link, (n) => names[n]],
        ["gain, points", "num", gain, (n) => card(n).gain],
        ["exam", "num", exam, (n) => card(n).shares?.[1]],
        ["anchors", "num", (n) => (card(n).total ? share(card(n).correct, card(n).total) : "–"), right],
        ["cost", "num", (n) => (card(n).calls == null ? "–" : dollars(card(n).usd)), (n) => card(n).usd],
        ["calls", "num", (n) => count(card(n).calls), (n) => card(n).calls],
        ["state", "", state, (n) => card(n).state],
        ["iterations", "num", done, (n) => card(n).iterations_done],
        [
          "begun, UTC",
          "num",
          (n) => (card(n).began_us ? time(card(n).began_us).slice(0, 16) : "–"),
          (n) => card(n).began_us,
        ],
        ["tasks", "", (n) => bdi(card(n).benchmark || "–"), (n) => card(n).benchmark],
        ["learner", "", (n) => bdi(card(n).learner || "–"), (n) => card(n).learner],
      ])}
      {problems.map((name) => (
        <p key={name} class="problem" children={[<strong>{bdi(name)}</strong>, ": ", bdi(cards[name].problem)]} />
      ))}
    </Section>
  );
}

/** What is picked, and the way to the comparison: of exams where both runs have one of a later state. */
function Picked({ picked, cards }: { picked: string[]; cards: Record<string, Row> }) {
  const { address } = useView();
  const [a, b] = picked;
  const [ea, eb] = picked.map((name) => cards[name]?.exam ?? "");
  const exams: Record<string, string> = ea && eb ? { ea, eb } : {};
  const says = ["Pick two runs to compare them.", `${a}: pick one more to compare it with.`][picked.length];
  if (says) return <p class="note">{says}</p>;
  const to = changed(address, { run: a, page: "compare", query: { with: b, ...exams } });
  return (
    <p class="picked">
      <A to={to} class="button" children="Compare" /> {bdi(a)} {muted("(A)")} with {bdi(b)} {muted("(B)")}
    </p>
  );
}
