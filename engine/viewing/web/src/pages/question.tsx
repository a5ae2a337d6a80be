/** One question: how it was asked, what it saw, what it answered, and what differed from another time. */
import { useEffect, useRef, useState } from "preact/hooks";
import { carried, questionOf, source, type Asking } from "../asked";
import { row, type Index, type Row } from "../data";
import { difference } from "../difference";
import { A, Bar, Seq, bdi, mark, memory, muted, sign, toned, verdict } from "../marks";
import { Choice, Command, Empty, Loading, Section, Text, Title, centre, fold, missing, rest } from "../parts";
import { plain, stated, tabled } from "../tables";
import { useLoad, useView } from "../view";
import { brief, count, decimal, micro, number, seconds, short, words } from "../words";

type Shown = [id: string, similarity: number | null, what: string, title: string];
/** A call, a tool's run, a search, a step. */
type Move = Row & { prompt: (string | { t: number; source: string })[] };
/** One asking with all that happened in it. */
export interface Answer extends Asking {
  bundle: Shown[];
  left_out: Shown[];
  calls: Move[];
  texts: string[];
  arms: [bandit: string, arm: string, probability: number, key: string][];
  facts: [name: string, text: string][];
}

/** Read what happened in some askings of a run. */
export const answersOf = (index: Index, askings: Asking[]): Promise<Answer[]> =>
  Promise.all(askings.map(async (one) => ({ ...one, ...(await row(index, "answers", one.n)) }) as Answer));

/** The askings up to a moment, and which of them is shown: the one asked for, or the last whose verdict turned. */
export function shownOf(askings: Asking[], seq: number, ask?: string) {
  const known = askings.filter((one) => one.from <= seq);
  const own = known.filter((one) => !one.exam && !one.carried);
  const turned = own.findLast((one, k) => k > 0 && one.verdict !== "open" && one.verdict !== own[k - 1].verdict);
  const shown = askings.find((one) => one.name === ask) ?? turned ?? (own.length ? own : known).at(-1);
  return { known, shown, now: shown && source(askings, shown) };
}

export function QuestionPage({ id }: { id: string }) {
  const { index, seq, second, address } = useView();
  const { value, error } = useLoad(() => questionOf(index, id), [index.run, id]);
  const askings = value?.askings ?? [];
  const { known, shown, now } = shownOf(askings, seq, address.query.ask);
  // The same question in the same series: of the run, without what was carried over, or in exams.
  const others = askings.filter((one) => !one.exam === !now?.exam && !one.carried && one !== now);
  const before = others.findLast((one) => (second === null ? now && one.n < now.n : one.from <= second));
  const then = others.find((one) => one.name === address.query.than) ?? before;
  const both = now ? (then ? [now, then] : [now]) : [];
  const read = useLoad(() => answersOf(index, both), [index.run, id, ...both.map((one) => one.n)]);
  if (error || (!value && !read.value)) return <Loading error={error} />;
  if (!value) return missing("questions", `question ${id}`);
  const { question } = value;
  const [answer, compared] = read.value ?? [];
  const text: string = answer?.question_text ?? "";
  const asked = known.filter((one) => !one.carried).length;
  const times = `asked ${number(asked, "time")}${known.length > asked ? `, carried ${count(known.length - asked)}` : ""}`;
  const first = <A to={{ query: { at: "", ask: askings[0]?.name } }} children="See it when it was first asked" />;
  const choices = others.map((one): [string, string] => [one.name, one.title]);
  const ask = shown && shown.name === address.query.ask;
  const follow = <A to={{ query: { ask: "" } }} children="Follow the bar" />;
  const pinned = [`${shown?.title} was chosen above and stays, wherever the bar below is. `, follow];
  const choice = <Choice name="than" label="Compare with" of={choices} none="the time before" />;
  return (
    <>
      <Title page="questions" id={id} title={bdi(text && text.length < 500 ? text : question.title || id)}>
        <p class="muted">
          {words(question.split)} split, task type {bdi(question.task_type ?? "not told")}, {times} up to this moment
        </p>
      </Title>
      <section>
        <Times askings={askings} now={shown} then={then} />
        {shown && others.length > 0 && <div class="filters" children={choice} />}
        {ask && <p class="note">{pinned}</p>}
        {now && shown && shown !== now && <p class="note">{carried(now, shown)}</p>}
      </section>
      {!now && <Empty title="Not asked up to this moment" children={askings.length > 0 && first} />}
      {now && !answer && <Loading error={read.error} />}
      {answer && compared && changes(compared, answer)}
      {answer && <Asked answer={answer} id={id} />}
    </>
  );
}

/** Each time it was asked, to choose from. */
function Times({ askings, now, then }: { askings: Asking[]; now?: Asking; then?: Asking }) {
  const { seq } = useView();
  const box = useRef<HTMLElement>(null);
  useEffect(() => centre(box.current), [now?.n]);
  const time = (one: Asking) => {
    const later = one.from > seq;
    const kinds = [one === now && "now", one === then && "before", later && "later", one.carried && "carried"];
    const says = [words(one.verdict), one === now && "shown", one === then && "compared with"].filter(Boolean);
    return (
      <A
        key={one.n}
        to={{ query: { ask: one.name, than: "" } }}
        class={["time", ...kinds].filter(Boolean).join(" ")}
        title={later ? "after the moment shown" : ""}
        label={`${one.title}: ${says.join(", ")}`}
        aria-current={one === now ? "true" : undefined}>
        {mark(one.verdict)} {one.title}
      </A>
    );
  };
  return <nav ref={box} class="times" aria-label="Each time it was asked" children={askings.map(time)} />;
}

const textOf = ({ texts }: Answer, piece: Move["prompt"][number]) =>
  typeof piece === "string" ? piece : texts[piece.t];

/** The prompt of a call, its pieces joined. */
const promptOf = (answer: Answer, call: Move) => call.prompt.map((piece) => textOf(answer, piece)).join("");

export const callsOf = (answer: Answer) => answer.calls.filter((move) => move.kind === "call");

/** Every prompt of an answer. */
export const promptsOf = (answer: Answer) =>
  callsOf(answer)
    .map((call) => (call.system ? `${call.system}\n\n` : "") + promptOf(answer, call))
    .join("\n\n");

const COMPARED = ["verdict", "answer", "routing_arm", "search_arm", "template", "task_type", "skill", "tool", "model"];

function told(name: string, value: any) {
  if (name === "verdict") return verdict(value);
  return bdi(name === "answer" ? brief(String(value ?? "none"), 400) : words(value || "none"));
}

/** Why an answer differs: what was different between two times. `across`: they are of two runs. */
export function changes(a: Answer, b: Answer, across = false) {
  const [was, is] = [a, b].map((answer): Row => ({ ...answer, model: callsOf(answer)[0]?.model }));
  const differ = COMPARED.filter((name) => (was[name] ?? "") !== (is[name] ?? ""));
  const rows = differ.map((name) => [words(name.replace("_arm", "")), told(name, was[name]), told(name, is[name])]);
  const name = (id: string, title: string) => (across ? <code>{short(id)}</code> : memory(id, title));
  const moved = (answer: Answer, other: Answer, kind: string, text: string) => {
    const alone = answer.bundle.filter(([id]) => !other.bundle.some(([one]) => one === id));
    return alone.map(([id, near, , title]) => [toned(`pill ${kind}`, text), decimal(near, 3), name(id, title)]);
  };
  const shown = [...moved(a, b, "minus", "− no longer shown"), ...moved(b, a, "plus", "+ newly shown")];
  const [before, after] = [a, b].map(promptsOf);
  const same = before === after;
  const turn = a.verdict === b.verdict ? `${words(b.verdict)} both times` : `${words(a.verdict)} → ${words(b.verdict)}`;
  const equal = rows.length
    ? "The prompt is the same, letter by letter."
    : "Nothing: the same prompt, the same answer.";
  return (
    <Section title={`What changed: ${turn}`} id="changed">
      {rows.length > 0 && plain("texts changes", [["", a.title, b.title], ...rows])}
      {shown.length > 0 && plain("texts changes", [["", "similarity", "memory"], ...shown])}
      {same && <p class="muted">{equal}</p>}
      {!same && !rows.length && !shown.length && <p class="muted">The words of the prompt alone.</p>}
      {!same && fold("The prompts, line by line", difference(before, after, [a.title, b.title]))}
    </Section>
  );
}

/** One time it was asked. */
function Asked({ answer, id }: { answer: Answer; id: string }) {
  const { index } = useView();
  const which = answer.exam ? `--exam ${parseInt(answer.name)}` : `--iteration ${answer.iteration}`;
  const planned = answer.prompt_sha256 && [", planned at ", <Seq seq={answer.from} />];
  const texts = [answer.question_text, answer.context].filter(Boolean).map((text) => <Text text={text} />);
  const events = [answer.carried ? "carried at " : "judged at ", <Seq seq={answer.judged} />, planned];
  return (
    <>
      <div class="columns">
        {stated(answer.title, [
          ["verdict", verdict(answer.verdict)],
          ["answer", <bdi class="answer">{brief(answer.answer ?? "none")}</bdi>],
          ["expected", <bdi class="answer">{brief(answer.expected ?? "not in the log")}</bdi>],
          ["score", micro(answer.score_micro)],
          ["task type, skill", bdi([answer.task_type, answer.skill].filter(Boolean).join(", ") || "–")],
          ...answer.facts.map(([name, text]): [string, any] => [name, bdi(brief(text))]),
          answer.carried && ["not asked", `${answer.carried}: the earlier verdict holds`],
          answer.tool && ["tool", memory(answer.tool)],
          ["events", answer.exam ? `in the exam's own log, event ${count(answer.seq)}` : <span>{events}</span>],
        ])}
        {arms(answer)}
      </div>
      {bundle(answer)}
      {texts.length > 0 && fold(texts.length > 1 ? "The question and its context" : "The question", texts)}
      {answer.problem && <p class="problem">{answer.problem}</p>}
      <Moves key={answer.n} answer={answer} />
      {!answer.carried && <Command text={`mage-es show ${id} ${index.named} ${which}`} />}
    </>
  );
}

function arms({ arms }: Answer) {
  const rows = arms.map(([bandit, arm, probability, key]) => [
    <A to={{ page: "bandits", query: { bandit, key } }} children={words(bandit)} />,
    words(arm),
    <Bar share={probability} text={decimal(probability, 3)} />,
  ]);
  const chosen = plain("texts", [["bandit", "arm", "probability"], ...rows], "No bandit chose here.");
  return <Section title="Arms" note="What each bandit chose, and how probable that choice was." children={chosen} />;
}

function bundle({ bundle, left_out }: Answer) {
  const entries = [...bundle, ...left_out];
  const similarity = (of: number | null) => (of === null ? "–" : <Bar share={of} text={decimal(of, 3)} />);
  return tabled({ title: "Memories shown", none: "None: the prompt had no notes." }, entries.length, [
    ["in the prompt", "narrow", (n) => (n < bundle.length ? toned(`tag span${n % 6}`, n + 1) : "left out"), (n) => n],
    ["memory", "grow", (n) => memory(entries[n][0], entries[n][3]), (n) => entries[n][3]],
    ["what", "", (n) => words(entries[n][2]), (n) => entries[n][2]],
    ["similarity", "num", (n) => similarity(entries[n][1]), (n) => entries[n][1]],
  ]);
}

const CHECKED: Record<string, [sign: string, colour: string, says: string]> = {
  same: ["●", "good", "checked in this page: prompt, sampling and seed have the hash that the log recorded"],
  differs: ["✕", "bad", "the prompt below does not have the hash that the log recorded"],
  unchecked: ["·", "quiet", "not checked: browsers compute no hash on plain HTTP from another machine"],
  "": ["…", "quiet", "checking"],
};

function Hash({ text, sha256 }: { text: string; sha256: string }) {
  const { value } = useLoad(async () => {
    if (!crypto.subtle) return "unchecked";
    const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
    return Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("") === sha256 ? "same" : "differs";
  }, [text, sha256]);
  const [text_, colour, says] = CHECKED[value ?? ""];
  const code = <code title={sha256}>{sha256.slice(0, 16)}</code>;
  return <p class="note" children={[sign(text_, colour), " SHA-256 ", code, ` ${says}`]} />;
}

/** Calls, tools, searches and steps in order; of many only those that are opened. */
function Moves({ answer }: { answer: Answer }) {
  const [open, setOpen] = useState<number[]>([]);
  const one = (move: Move, k: number) =>
    move.kind === "call" ? <Call n={k} call={move} answer={answer} /> : other(move);
  if (answer.calls.length <= 3) return <>{answer.calls.map(one)}</>;
  const toggle = (k: number, on: boolean) => setOpen((old) => (on ? [...old, k] : old.filter((other) => other !== k)));
  const folded = (move: Move, k: number) => (
    <li key={k}>
      <details onToggle={(e) => toggle(k, e.currentTarget.open)}>
        <summary children={[toned("num", k + 1), " ", <strong>{words(move.kind)}</strong>, " ", bdi(gist(move))]} />
        {open.includes(k) && one(move, k)}
      </details>
    </li>
  );
  const moves = <ol class="moves" children={answer.calls.map(folded)} />;
  return <Section title="Move by move" tools={number(answer.calls.length, "move")} children={moves} />;
}

/** A move in one line. */
function gist(move: Move) {
  const step = move.kind === "step" && `${move.action}: ${move.observation}`;
  const text = String(step || move.reply || move.problem || move.result || move.query || "");
  return brief(text, 160).replace(/\s+/g, " ");
}

const SHOWN = 50_000; // letters of a prompt, until more are asked for

/** One call: its prompt with what it quotes, and the reply. */
function Call({ n, call, answer }: { n: number; call: Move; answer: Answer }) {
  const [room, setRoom] = useState(SHOWN);
  let left = room;
  const fitting = call.prompt.map((piece) => {
    const text = textOf(answer, piece);
    const shown = text.slice(0, Math.max(0, left));
    left -= text.length;
    return typeof piece === "string" || !shown ? shown : quoted(piece.source ?? "", shown, answer);
  });
  const tokens = `${number(call.input_tokens, "token")} in, ${count(call.output_tokens)} out`;
  const stopped = call.stop_reason && call.stop_reason !== "end" && `stopped: ${call.stop_reason}`;
  const told = [call.model, tokens, call.latency_us > 0 && seconds(call.latency_us), stopped];
  const sent = `${call.system}\0${promptOf(answer, call)}\0${call.rest}`;
  return (
    <Section
      title={`${n + 1}. ${call.agent || "Prompt"}, ${call.tier} tier`}
      note={told.filter(Boolean).join(", ")}
      tools={!answer.exam && muted(["event ", <Seq seq={call.seq} />])}>
      {call.request_sha256 && <Hash text={sent} sha256={call.request_sha256} />}
      <div class="call">
        <div>
          {call.system && [<h3>System</h3>, <Text text={call.system} />]}
          <h3>Prompt</h3>
          <pre class="text" dir="auto" children={fitting} />
          {rest(-left, () => setRoom(room + SHOWN))}
        </div>
        <div children={[<h3>Reply</h3>, <Text text={call.reply || "(empty)"} />]} />
      </div>
    </Section>
  );
}

/** A quotation, with a link to the memory that it is of. */
function quoted(source: string, text: string, { bundle }: Answer) {
  const id = source.replace(/^[a-z_]+\//, "");
  const place = bundle.findIndex(([one]) => one === id);
  const kind = place < 0 ? "other" : `span${place % 6}`;
  const label = `memory ${place + 1}, ${short(id)}`;
  return (
    <mark class={kind} title={source}>
      {place >= 0 && <A to={{ page: "memories", id }} class={`tag ${kind}`} label={label} children={place + 1} />}
      {place < 0 && source && toned("tag other", source.replace(id, short(id)))}
      {text}
    </mark>
  );
}

/** What was no call: a tool's run, a search, a trimmed prompt. */
function other(move: Move) {
  const told = Object.entries(move).filter(([name, fact]) => name !== "kind" && fact !== null && fact !== "");
  const text = (fact: any) => (typeof fact === "string" ? fact : JSON.stringify(fact, null, 1));
  const show = (name: string, fact: any) => (name === "seq" ? <Seq seq={fact} /> : <Text text={text(fact)} />);
  const facts = told.map(([name, fact]): [string, any] => [words(name), show(name, fact)]);
  return stated(words(move.kind), facts);
}
