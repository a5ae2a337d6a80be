/** What was learned: every memory, from what it was made, where it was shown, what it did. */
import { useMemo } from "preact/hooks";
import { byQuestion, nameOf } from "../asked";
import { all, at, record, type Row, type Table as Data, type Tables } from "../data";
import { A, Bar, Seq, bdi, memory, moment, muted, question, ratio, verdict } from "../marks";
import { Command, Empty, Loading, Section, Text, Title, missing } from "../parts";
import { facts, listing, plain, stated, tabled } from "../tables";
import { useRow, useView } from "../view";
import { count, decimal, micro, number, percent, short, when, words } from "../words";

/** The state of each memory at a moment, by its row. */
export const statesAt = (states: Data, seq: number) => new Map(at(states, seq).map((n) => [states.col.memory[n], n]));

/** All words of a memory. */
export const wordsOf = (fields: [name: string, text: string][]) => fields.map(([, text]) => text).join("\n");

export function Memories({ t: { memories, memory_states: states, questions } }: { t: Tables }) {
  const { seq, second } = useView();
  const now = useMemo(() => statesAt(states, seq), [states, seq]);
  const then = useMemo(() => (second === null ? null : statesAt(states, second)), [states, second]);
  const c = memories.col;
  const status = (of: typeof now | null, n: number): string => states.col.status[of?.get(n) ?? -1] ?? "";
  const differs = (n: number) => then && status(now, n) !== status(then, n) && "differs_at_B";
  const from = (n: number): string => questions.col.title?.[c.question[n] ?? -1] ?? "";
  const shown = (of: string) => (of ? verdict(of) : muted("not yet"));
  return listing({
    title: "Memories",
    one: "memory",
    many: "memories",
    known: all(memories).filter((n) => now.has(n) || then?.has(n)),
    early: "Nothing was learned up to this moment",
    search: [
      "words of the memory, a skill or an id",
      (n) => [c.title[n], c.id[n], c.skill[n], from(n)],
      ["texts", (t, n) => [wordsOf(t.col.fields[n])]],
    ],
    filters: [
      ["kind", "Kind", (n) => c.kind[n]],
      ["status", "Status", (n) => [status(now, n), differs(n)]],
      ["type", "Task type", (n) => c.task_type[n]],
    ],
    columns: [
      [then ? "A" : "status", "narrow", (n) => shown(status(now, n)), (n) => status(now, n)],
      then && ["B", "narrow", (n) => shown(status(then, n)), (n) => status(then, n)],
      ["what it teaches", "grow", (n) => memory(c.id[n], c.title[n]), (n) => c.title[n]],
      ["kind", "", (n) => words(c.kind[n]), (n) => c.kind[n]],
      ["learned in", "", (n) => when(c.iteration[n]), (n) => c.iteration[n]],
      ["prompts, whole run", "num", (n) => count(c.prompts[n]), (n) => c.prompts[n]],
      ["right", "num", (n) => ratio(c.right[n], c.prompts[n]), (n) => c.right[n] / c.prompts[n]],
      ["from the question", "", (n) => bdi(from(n) || "–"), from],
      ["skill", "", (n) => bdi(c.skill[n] ?? "–"), (n) => c.skill[n]],
    ],
  });
}

export function MemoryPage({ id, t }: { id: string; t: Tables }) {
  const ids: string[] = t.memories.col.id ?? [];
  const n = ids.findIndex((one) => one === id || (id.length >= 8 && one.startsWith(id)));
  const { value: text, error } = useRow(useView().index, "texts", n < 0 ? null : n);
  if (n < 0) return missing("memories", `memory ${id}`);
  const one = record(t.memories, n);
  const skill = <A to={{ page: "graph", id: `skill/${one.skill}` }} children={bdi(`skill ${one.skill}`)} />;
  return (
    <>
      <Title page="memories" id={one.id} title={bdi(one.title || short(one.id))}>
        <p class="muted">
          {words(one.kind)}, {one.task_type && <>task type {bdi(one.task_type)}, </>}
          {one.skill && [skill, ", "]}
          learned in {moment(when(one.iteration, one.phase))}
        </p>
      </Title>
      <div
        class="columns"
        children={[<State one={one} n={n} t={t} />, text && <Effect id={one.id} text={text} t={t} />]}
      />
      {!text && <Loading error={error} />}
      {text && content(text.fields)}
      {text && origin(one, text, t.questions)}
      {text && <Shown rows={text.shown} t={t} />}
    </>
  );
}

const REJECT: [act: string, what: string] = ["reject", "To keep it out for good:"];
/** What a person can do with a memory that is in no prompt, by its status. */
const ACTS: Record<string, [act: string, what: string][]> = {
  quarantined: [["release", "To let it into prompts again:"]],
  waiting: [["approve", "It waits for a person. To let the next publish take it into prompts:"], REJECT],
  approved: [REJECT],
  rejected: [],
};

/** What it was up to this moment, what was done to it, and how to keep it out of prompts. */
function State({ one, n, t: { memories, memory_states: states, curations } }: { one: Row; n: number; t: Tables }) {
  const { index, seq, second } = useView();
  const s = states.col;
  const life = all(states).filter((k) => s.memory[k] === n && s.from[k] <= seq);
  const changes = life.filter((k, j) => j > 0 && s.status[k] !== s.status[life[j - 1]]);
  const then = second === null ? undefined : statesAt(states, second).get(n);
  const acts = at(curations, seq).filter((k) => curations.col.memory[k] === n);
  if (!life.length) {
    const says = `Go to event ${count(one.from)}, which made it`;
    const made = <A to={{ query: { at: `seq:${one.from}` } }} children={says} />;
    return <Empty title="Not learned yet at this moment" children={made} />;
  }
  const now = record(states, life[life.length - 1]);
  const act = (k: number) => {
    const { what, by, reason } = record(curations, k);
    const says = [<strong>{words(what)}</strong>, " by ", bdi(by || "the run"), reason && ": ", bdi(reason)];
    return <p key={k} children={[<Seq seq={curations.col.from[k]} />, " ", ...says]} />;
  };
  const commands = ACTS[now.status] ?? [["quarantine", "To keep it out of every prompt:"]];
  return (
    <Section title="State">
      {facts([
        ["status", verdict(now.status)],
        then !== undefined && ["at B", verdict(s.status[then])],
        now.by !== null && ["superseded by", memory(memories.col.id[now.by])],
        now.confidence_micro !== null && ["confidence", micro(now.confidence_micro)],
        ["created", <Seq seq={one.from} />],
        ...changes.map((k): [any, any] => [verdict(s.status[k]), <Seq seq={s.from[k]} />]),
      ])}
      {acts.map(act)}
      {commands.map(([act, what]) => [
        <p class="note">{what}</p>,
        <Command text={`mage-es memory ${act} ${one.id} ${index.named} --reason "..."`} />,
      ])}
    </Section>
  );
}

const COIN = "Where a coin decided, the two shares can be compared: nothing else told the questions apart.";
const CHOSEN =
  "How often the answer was right where it was shown. It shows no cause: similar questions see similar memories.";

const AGAIN = "To see its own share, ask the questions that saw it again without it (the price comes first):";

/** What asking questions once more without it has shown. */
function pairs({ pairs, won, lost, points, low, high, least }: Row) {
  const span = low === null ? `an interval takes ${least} pairs` : `95 %: ${decimal(low, 1)} to ${decimal(high, 1)}`;
  const flips = `${count(won)} right only with it, ${count(lost)} only without`;
  return `${number(pairs, "question")} asked again without it: ${flips}, ${decimal(points, 1)} points (${span}).`;
}

/** How often answers were right with it, and without. */
function Effect({ id, text, t: { askings } }: { id: string; text: Row; t: Tables }) {
  const { index, seq } = useView();
  const c = askings.col;
  const judged = (n: number) => c.judged[n] !== null && c.judged[n] <= seq;
  const of = byQuestion(askings);
  const shown: number[] = text.shown.filter(judged);
  const same = new Set<number>(shown.flatMap((n) => of.get(c.question[n]) ?? []));
  for (const n of text.shown) same.delete(n);
  const without = [...same].filter((n) => judged(n) && !c.carried[n]);
  const right = (rows: number[]) => rows.filter((n) => c.verdict[n] === "correct").length;
  const bar = (share: number) => <Bar share={share} text={percent(share)} tone="good" />;
  const row = (name: string, yes: number, of: number) => [name, count(of), of ? bar(yes / of) : "–"];
  const coin = text.coin_asked > 0 && text.left_asked > 0;
  return (
    <Section title="Effect" note={coin ? COIN : CHOSEN}>
      {plain("", [
        ["where", "n", "right"],
        row("shown, up to this moment", right(shown), shown.length),
        without.length > 0 && row("the same questions, asked without it", right(without), without.length),
        seq < index.last && row("shown, over the whole run", text.right, text.asked),
        coin && row("a coin let it in", text.coin_right, text.coin_asked),
        coin && row("a coin left it out", text.left_right, text.left_asked),
      ])}
      <p class="note">{text.again ? pairs(text.again) : AGAIN}</p>
      {!text.again && <Command text={`mage-es effect ${index.named} --memory ${id}`} />}
    </Section>
  );
}

const ELSEWHERE = ["outcome", "kind", "task_type", "question_id", "status", "met"];

/** Its text: what is long in full, the rest as a list. */
function content(fields: [name: string, value: string][]) {
  const shown = fields.filter(([name]) => !ELSEWHERE.includes(name));
  const long = (value: string) => value.length > 100 || value.includes("\n");
  return (
    <Section title="Text">
      {shown.map(([name, value]) => long(value) && [<h3>{words(name)}</h3>, <Text key={name} text={value} />])}
      {facts(shown.map(([name, value]) => !long(value) && [words(name), bdi(value)]))}
    </Section>
  );
}

const NAMED = 40; // events that it was made of

function origin(one: Row, text: Row, { col: { id, title } }: Data) {
  const events = text.facts.slice(0, NAMED).map((seq: number) => <Seq key={seq} seq={seq} />);
  const more = text.facts.length > NAMED ? ` and ${count(text.facts.length - NAMED)} more` : "";
  return stated("Where it comes from", [
    one.question !== null && ["question", question(id[one.question], title[one.question])],
    events.length > 0 && ["verdicts and calls", <span class="seqs" children={[...events, more]} />],
    text.missing > 0 && ["from a parent's log", `${number(text.missing, "event")} that this log does not hold`],
    ["who gave what", bdi(text.source)],
    ["recorded as event", <Seq seq={one.from} />],
  ]);
}

/** Every prompt that showed it. */
function Shown({ rows: every, t: { askings, questions } }: { rows: number[]; t: Tables }) {
  const { seq } = useView();
  const c = askings.col;
  const { id, title } = questions.col;
  const rows = every.filter((n) => c.from[n] <= seq);
  const later = every.length - rows.length;
  const note = later > 0 && `${number(later, "prompt")} more after this moment.`;
  const asked = (n: number) => question(id[c.question[n]], title[c.question[n]], { ask: nameOf(record(askings, n)) });
  return tabled({ title: "Prompts that showed it", note, none: "No prompt up to this moment.", height: 400 }, rows, [
    ["verdict", "narrow", (n) => verdict(c.verdict[n]), (n) => c.verdict[n]],
    ["question", "grow", asked, (n) => title[c.question[n]]],
    ["when", "", (n) => c.title[n], (n) => n],
    ["route", "", (n) => words(c.routing_arm[n] || "–"), (n) => c.routing_arm[n]],
    ["memories shown", "num", (n) => count(c.memories[n]), (n) => c.memories[n]],
  ]);
}
