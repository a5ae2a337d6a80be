/** One question: how it was asked, what it saw, what it answered, and what differed from another time. */
import { Fragment, h } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { carried, questionOf, source } from "../asked";
import type { Asking } from "../asked";
import { row } from "../data";
import type { Index, Row } from "../data";
import { Difference } from "../difference";
import { A, Bar, Seq, bdi, mark, memory, sign, verdict } from "../marks";
import { Choice, Command, Empty, Facts, Loading, More, Plain, Section, Table, Text, Title } from "../parts";
import { useLoad, useView } from "../view";
import { brief, count, decimal, micro, number, seconds, short, visible, words } from "../words";

/** A memory's row, its id, its similarity, what it is, and its title. */
type Shown = [row: number | null, id: string, similarity: number | null, what: string, title: string];
/** A call, a tool's run, a search, a step. */
interface Move extends Row {
  prompt: (string | { t: number; source: string })[];
}
/** One asking with all that happened in it. */
export interface Answer extends Asking {
  bundle: Shown[];
  left_out: Shown[];
  calls: Move[];
  texts: string[];
  arms: [bandit: string, arm: string, probability: number][];
}

/** Read what happened in some askings of a run. */
export const answersOf = (index: Index, askings: Asking[]): Promise<Answer[]> =>
  Promise.all(askings.map(async (one) => ({ ...one, ...(await row(index, "answers", one.n)) }) as Answer));

export function QuestionPage({ id }: { id: string }) {
  const { index, seq, second, address } = useView();
  const { value, error } = useLoad(() => questionOf(index, id), [index.run, id]);
  const askings = value?.askings ?? [];
  const known = askings.filter((one) => one.from <= seq);
  const own = known.filter((one) => one.exam === null && !one.carried);
  const turned = own.findLast((one, k) => k > 0 && one.verdict !== "open" && one.verdict !== own[k - 1].verdict);
  const shown = askings.find((one) => one.name === address.query.ask) ?? turned ?? (own.length ? own : known).at(-1);
  const now = shown && source(askings, shown);
  // The same question in the same series: of the run, without what was carried over, or in exams.
  const others = askings.filter((one) => (one.exam === null) === (now?.exam === null) && !one.carried && one !== now);
  const before = others.findLast((one) => (second === null ? now && one.n < now.n : one.from <= second));
  const then = others.find((one) => one.name === address.query.than) ?? before;
  const both = now ? (then ? [now, then] : [now]) : [];
  const read = useLoad(() => answersOf(index, both), [index.run, id, ...both.map((one) => one.n)]);
  if (error || (!value && !read.value)) return <Loading error={error} />;
  if (!value) return <Empty title={`This run has no question ${id}`} children={<All />} />;
  const { question } = value;
  const [answer, compared] = read.value ?? [];
  const text: string = answer?.question_text ?? "";
  const asked = known.filter((one) => !one.carried).length;
  const times = `asked ${number(asked, "time")}${known.length > asked ? `, carried ${count(known.length - asked)}` : ""}`;
  return (
    <Fragment>
      <Title
        page="questions"
        all="Questions"
        id={id}
        title={bdi(text && text.length < 500 ? text : question.title || id)}>
        <p class="muted">
          {words(question.split)} split, task type {bdi(question.task_type ?? "not told")}, {times} up to this moment
        </p>
      </Title>
      <section>
        <Times askings={askings} now={shown} then={then} />
        {shown && others.length > 0 && (
          <div class="filters">
            <Choice
              name="than"
              label="Compare with"
              of={others.map((one) => [one.name, one.title])}
              none="the time before"
            />
          </div>
        )}
        {now && shown !== now && <p class="note">{carried(now, shown)}</p>}
      </section>
      {!now && (
        <Empty title="Not asked up to this moment">
          {askings.length > 0 && (
            <A to={{ query: { at: "", ask: askings[0].name } }} children="See it when it was first asked" />
          )}
        </Empty>
      )}
      {now && !answer && <Loading error={read.error} />}
      {answer && compared && <Changes a={compared} b={answer} />}
      {answer && <Asked answer={answer} id={id} />}
    </Fragment>
  );
}

const All = () => <A to={{ page: "questions", id: "" }} children="All questions" />;

/** Each time it was asked, to choose from. */
function Times({ askings, now, then }: { askings: Asking[]; now?: Asking; then?: Asking }) {
  const { seq } = useView();
  const box = useRef<HTMLElement>(null);
  useEffect(() => box.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" }), [now?.n]);
  return (
    <nav ref={box} class="times" aria-label="Each time it was asked">
      {askings.map((one) => {
        const later = one.from > seq;
        const kinds = [one === now && "now", one === then && "before", later && "later", one.carried && "carried"];
        const says = [one === now && "shown", one === then && "compared with"].filter(Boolean);
        return (
          <A
            key={one.n}
            to={{ query: { ask: one.name, than: "" } }}
            class={["time", ...kinds].filter(Boolean).join(" ")}
            title={later ? "after the moment shown" : ""}
            label={[`${one.title}: ${words(one.verdict)}`, ...says].join(", ")}
            aria-current={one === now ? "true" : undefined}>
            {mark(one.verdict)} {one.title}
          </A>
        );
      })}
    </nav>
  );
}

/** The prompt of a call, its pieces joined. */
const promptOf = (answer: Answer, call: Move) =>
  call.prompt.map((piece) => (typeof piece === "string" ? piece : answer.texts[piece.t])).join("");

export const callsOf = (answer: Answer) => answer.calls.filter((move) => move.kind === "call");

/** Every prompt of an answer. */
export const promptsOf = (answer: Answer) =>
  callsOf(answer)
    .map((call) => (call.system ? `${call.system}\n\n` : "") + promptOf(answer, call))
    .join("\n\n");

const COMPARED = ["verdict", "answer", "routing_arm", "search_arm", "template", "task_type", "skill", "tool"];

/** Why an answer differs: what was different between two times. `across`: they are of two runs. */
export function Changes({ a, b, across }: { a: Answer; b: Answer; across?: boolean }) {
  const [had, has] = [a, b].map((answer) => new Set(answer.bundle.map(([, id]) => id)));
  const models = [a, b].map((answer) => callsOf(answer)[0]?.model);
  const lines = COMPARED.map((name) => [name, a[name], b[name]]);
  lines.push(["model", ...models]);
  const differ = lines.filter(([, was, is]) => (was ?? "") !== (is ?? ""));
  const entries = (answer: Answer, other: Set<string>, kind: string, text: string) =>
    answer.bundle
      .filter(([, id]) => !other.has(id))
      .map((entry) => [
        <span class={`pill ${kind}`}>{text}</span>,
        decimal(entry[2], 3),
        across ? <code>{short(entry[1])}</code> : memory(entry[1], entry[4]),
      ]);
  const moved = [...entries(a, has, "minus", "− no longer shown"), ...entries(b, had, "plus", "+ newly shown")];
  const texts = [a, b].map(promptsOf);
  const same = texts[0] === texts[1];
  const value_ = (name: string, v: any) =>
    name === "verdict"
      ? verdict(v)
      : bdi(name === "answer" ? brief(String(v ?? "none"), 400) : words(String(v || "none")));
  const turn = a.verdict === b.verdict ? `${words(b.verdict)} both times` : `${words(a.verdict)} → ${words(b.verdict)}`;
  return (
    <Section title={`What changed: ${turn}`} id="changed">
      {differ.length > 0 && (
        <Plain
          kind="texts changes"
          heads={["", a.title, b.title]}
          rows={differ.map(([name, was, is]) => [words(name.replace("_arm", "")), value_(name, was), value_(name, is)])}
        />
      )}
      {moved.length > 0 && <Plain kind="texts changes" heads={["", "similarity", "memory"]} rows={moved} />}
      {same && (
        <p class="muted">
          {differ.length ? "The prompt is the same, letter by letter." : "Nothing: the same prompt, the same answer."}
        </p>
      )}
      {!same && !differ.length && !moved.length && <p class="muted">The words of the prompt alone.</p>}
      {!same && (
        <details>
          <summary>The prompts, line by line</summary>
          <Difference before={texts[0]} after={texts[1]} names={[a.title, b.title]} />
        </details>
      )}
    </Section>
  );
}

/** One time it was asked. */
function Asked({ answer, id }: { answer: Answer; id: string }) {
  const { index } = useView();
  const exam = answer.exam !== null;
  const which = exam ? `--exam ${parseInt(answer.name)}` : `--iteration ${answer.iteration}`;
  const says = [answer.judge || "the benchmark's rule", answer.reason].filter(Boolean).join(": ");
  const events = (
    <span>
      {answer.carried ? "carried" : "judged"} at <Seq seq={answer.judged} />
      {answer.prompt_sha256 && ", planned at "}
      {answer.prompt_sha256 && <Seq seq={answer.from} />}
    </span>
  );
  return (
    <Fragment>
      <div class="columns">
        <Section title={answer.title}>
          <Facts
            rows={[
              ["verdict", verdict(answer.verdict)],
              ["answer", <bdi class="answer">{brief(answer.answer ?? "none")}</bdi>],
              ["expected", <bdi class="answer">{brief(answer.expected ?? "not in the log")}</bdi>],
              ["judged by", bdi(brief(says))],
              answer.undecided && ["undecided", bdi(String(answer.undecided))],
              ["score", micro(answer.score_micro)],
              ["task type, skill", bdi([answer.task_type, answer.skill].filter(Boolean).join(", ") || "–")],
              ["template", bdi(words(answer.template || "–"))],
              answer.carried && ["not asked", `${answer.carried}: the earlier verdict holds`],
              answer.tool && ["tool", memory(answer.tool)],
              answer.coin && ["coin", `left out with probability ${decimal(answer.coin)}`],
              answer.guiding_skill && ["guiding skill", bdi(answer.guiding_skill)],
              answer.donor && ["donor", bdi(answer.donor)],
              answer.planning?.length && ["planned over", bdi(answer.planning.join(", "))],
              answer.chain?.length && ["chain of skills", bdi(answer.chain.join(" → "))],
              exam ? ["events", `in the exam's own log, event ${count(answer.seq)}`] : ["events", events],
            ]}
          />
        </Section>
        <Arms answer={answer} />
      </div>
      <Bundle answer={answer} />
      {answer.question_text && (
        <details>
          <summary>The question{answer.context && " and its context"}</summary>
          <Text text={answer.question_text} />
          {answer.context && <Text text={answer.context} />}
        </details>
      )}
      {answer.problem && <p class="problem">{answer.problem}</p>}
      <Moves answer={answer} exam={exam} />
      {!answer.carried && <Command text={`mage-es show ${id} ${index.named} ${which}`} />}
    </Fragment>
  );
}

function Arms({ answer }: { answer: Answer }) {
  const keyOf = (bandit: string) => (bandit === "search" ? answer.task_type : answer.skill);
  const rows = (answer.arms ?? []).map(([bandit, arm, probability]) => [
    <A to={{ page: "bandits", query: { bandit, key: keyOf(bandit) } }} children={words(bandit)} />,
    words(arm),
    <Bar share={probability} text={decimal(probability, 3)} />,
  ]);
  return (
    <Section title="Arms" note="What each bandit chose, and how probable that choice was.">
      <Plain heads={["bandit", "arm", "probability"]} rows={rows} kind="texts" none="No bandit chose here." />
    </Section>
  );
}

function Bundle({ answer }: { answer: Answer }) {
  const { bundle, left_out: out } = answer;
  const entries = [...bundle, ...out];
  if (!entries.length)
    return <Section title="Memories shown" children={<p class="muted">None: the prompt had no notes.</p>} />;
  const place = (n: number) => (n < bundle.length ? <span class={`tag span${n % 6}`}>{n + 1}</span> : "left out");
  const similarity = (of: number | null) => (of === null ? "–" : <Bar share={of} text={decimal(of, 3)} />);
  return (
    <Section title="Memories shown">
      <Table
        label="Memories shown"
        rows={[...entries.keys()]}
        columns={[
          ["in the prompt", "narrow", place],
          ["memory", "grow", (n) => memory(entries[n][1], entries[n][4])],
          ["what", "", (n) => words(entries[n][3])],
          ["similarity", "num", (n) => similarity(entries[n][2])],
        ]}
      />
    </Section>
  );
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
  return (
    <p class="note">
      {sign(text_, colour)} SHA-256 <code title={sha256}>{sha256.slice(0, 16)}</code> {says}
    </p>
  );
}

/** Calls, tools, searches and steps in order; of many only those that are opened. */
function Moves({ answer, exam }: { answer: Answer; exam: boolean }) {
  const [open, setOpen] = useState<number[]>([]);
  useEffect(() => setOpen([]), [answer.n]);
  const one = (move: Move, k: number) =>
    move.kind === "call" ? <Call n={k} call={move} answer={answer} exam={exam} /> : <Other move={move} />;
  if (answer.calls.length <= 3) return <Fragment>{answer.calls.map(one)}</Fragment>;
  const toggle = (k: number, on: boolean) => setOpen((old) => (on ? [...old, k] : old.filter((other) => other !== k)));
  return (
    <Section title="Move by move" tools={number(answer.calls.length, "move")}>
      <ol class="moves">
        {answer.calls.map((move, k) => (
          <li key={`${answer.n} ${k}`}>
            <details onToggle={(e) => toggle(k, e.currentTarget.open)}>
              <summary>
                <span class="num">{k + 1}</span> <strong>{words(move.kind)}</strong> {bdi(gist(move))}
              </summary>
              {open.includes(k) && one(move, k)}
            </details>
          </li>
        ))}
      </ol>
    </Section>
  );
}

/** A move in one line. */
function gist(move: Move) {
  const step = move.kind === "step" && `${move.action}: ${move.observation}`;
  const text = String(step || move.reply || move.problem || move.result || move.query || "");
  return brief(text, 160).replace(/\s+/g, " ");
}

const SHOWN = 50_000; // letters of a prompt, until more are asked for

/** One call: its prompt with what it quotes, and the reply. */
function Call({ n, call, answer, exam }: { n: number; call: Move; answer: Answer; exam: boolean }) {
  const [room, setRoom] = useState(SHOWN);
  let left = room;
  const fitting = call.prompt.map((piece) => {
    const text = typeof piece === "string" ? piece : answer.texts[piece.t];
    const shown = text.slice(0, Math.max(0, left));
    left -= text.length;
    return { piece, shown };
  });
  const places = new Map(answer.bundle.map(([, id], k) => [id, k]));
  const quoted = ({ piece, shown }: (typeof fitting)[number], k: number) => {
    if (typeof piece === "string" || !shown) return visible(shown);
    const source = piece.source ?? "";
    const id = source.replace(/^[a-z_]+\//, "");
    const place = places.get(id);
    const kind = place === undefined ? "other" : `span${place % 6}`;
    const label = `memory ${(place ?? 0) + 1}, ${short(id)}`;
    return (
      <mark key={k} class={kind} title={source}>
        {place !== undefined ? (
          <A to={{ page: "memories", id }} class={`tag ${kind}`} label={label} children={place + 1} />
        ) : (
          source && <span class="tag other">{source.replace(id, short(id))}</span>
        )}
        {visible(shown)}
      </mark>
    );
  };
  const told = [
    call.model,
    `${number(call.input_tokens, "token")} in, ${count(call.output_tokens)} out`,
    call.latency_us ? seconds(call.latency_us) : "",
    call.stop_reason && call.stop_reason !== "end" ? `stopped: ${call.stop_reason}` : "",
  ];
  const event = (
    <span class="muted">
      event <Seq seq={call.seq} />
    </span>
  );
  return (
    <Section
      title={`${n + 1}. ${call.agent || "Prompt"}, ${call.tier} tier`}
      note={told.filter(Boolean).join(", ")}
      tools={exam ? null : event}>
      {call.request_sha256 && (
        <Hash text={`${call.system}\0${promptOf(answer, call)}\0${call.rest}`} sha256={call.request_sha256} />
      )}
      <div class="call">
        <div>
          {call.system && (
            <Fragment>
              <h3>System</h3>
              <Text text={call.system} />
            </Fragment>
          )}
          <h3>Prompt</h3>
          <pre class="text" dir="auto" children={fitting.map(quoted)} />
          <More left={-left} more={() => setRoom(room + SHOWN)} />
        </div>
        <div>
          <h3>Reply</h3>
          <Text text={call.reply || "(empty)"} />
        </div>
      </div>
    </Section>
  );
}

/** What was no call: a tool's run, a search, a trimmed prompt. */
function Other({ move }: { move: Move }) {
  const facts = Object.entries(move).filter(([name, fact]) => name !== "kind" && fact !== null && fact !== "");
  const text = (fact: any) => <Text text={typeof fact === "string" ? fact : JSON.stringify(fact, null, 1)} />;
  return (
    <Section title={words(move.kind)}>
      <Facts
        rows={facts.map(([name, fact]) => [words(name), name === "seq" ? <Seq seq={Number(fact)} /> : text(fact)])}
      />
    </Section>
  );
}
