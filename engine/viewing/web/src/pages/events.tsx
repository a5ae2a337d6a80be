/** The log itself: every event, what caused it and what it caused. */
import { useState } from "preact/hooks";
import { needle } from "../address";
import { row, type Index, type Row } from "../data";
import { A, Seq, bdi, muted } from "../marks";
import { Choice, Empty, Loading, Search, Section, Text, Title, missing } from "../parts";
import { facts, list, stated, table, type Column } from "../tables";
import { useLoad, useRow, useView } from "../view";
import { count, number, short, time, when, words } from "../words";

const PAGES: Record<string, string> = {
  question: "questions",
  memory: "memories",
  tool: "memories",
  recipe: "memories",
  skill: "graph",
  task_type: "graph",
};

/** What an event is about, on its own page where there is one. */
function about(subject: string) {
  const [kind, ...rest] = subject.split("/");
  const [page, id] = [PAGES[kind], rest.join("/")];
  if (!page) return bdi(short(subject) || "–");
  return <A to={{ page, id: page === "graph" ? subject : id }} children={bdi(`${kind}/${short(id)}`)} />;
}

/** The iteration and phase of an event; what is in none, such as an exam, is after one. */
function during({ markers }: Index, e: Row) {
  const ended = markers.findLast((marker) => !marker.phase && marker.seq < e.seq);
  if (e.iteration < 0 && ended) return `after ${ended.name}`;
  return e.iteration < 0 && !e.phase ? "–" : when(e.iteration, e.phase);
}

const headerOf = async (index: Index, seq: number): Promise<Row> => ({ seq, ...(await row(index, "events", seq - 1)) });

/** Something of a header, which is read as it comes in sight. */
function Of({ seq, show }: { seq: number; show: (e: Row) => any }) {
  const { index } = useView();
  const { value } = useLoad(() => headerOf(index, seq), [index.run, seq]);
  return value ? show(value) : muted("…");
}

const ENOUGH = 2_000; // that are looked for at once

export function Events() {
  const { index, seq, address } = useView();
  const type = address.query.type ?? "";
  const text = needle(address.query);
  const filtered = Boolean(type || text);
  const [asked, ask] = useState({ key: "", many: ENOUGH });
  const key = `${type}\n${text}\n${seq}`;
  const many = asked.key === key ? asked.many : ENOUGH;

  const look = async (wanted: () => boolean) => (filtered ? scan(index, seq, type, text, many, wanted) : null);
  const { value: found, error } = useLoad(look, [index.run, key, many]);
  const rows = filtered ? (found?.rows ?? []) : Array.from({ length: seq }, (_, k) => seq - k);
  const more = found && found.next > 0;
  const total = number(rows.length, "event");
  const every = <A to={{ query: { type: "", q: "" } }} children="Show all events" />;
  const column = (title: string, kind: Column[1], show: (e: Row) => any): Column => {
    return [title, kind, (n) => <Of seq={n} show={show} />];
  };
  const link = (name: string) => <A to={{ query: { type: name } }} children={name} />;
  const unfit = <Empty title="No event fits these filters so far" children={every} />;
  const none = found || !filtered ? unfit : <Loading error={error} />;
  const further = found && `Look further back, before event ${count(found.next + 1)}`;
  return (
    <Section title="Events" note="Newest first, up to the moment shown." tools={more ? `the newest ${total}` : total}>
      <div class="filters">
        <Search label="About" hint="a question, a memory, any subject" />
        <Choice name="type" label="Type" of={[...index.types].sort()} />
      </div>
      {table({ label: "Events", none }, rows, [
        ["event", "num main", (n) => <Seq seq={n} />],
        column("type", "", (e) => link(index.types[e.type])),
        column("subject", "grow", (e) => about(e.subject)),
        column("when", "", (e) => during(index, e)),
        column("cause", "num", (e) => <Seq seq={e.causation} />),
        column("caused", "num", (e) => (e.caused.length ? count(e.caused.length) : "–")),
        column("time, UTC", "num", (e) => time(e.ts_us)),
      ])}
      {more && <button onClick={() => ask({ key, many: many + ENOUGH })} children={further} />}
    </Section>
  );
}

/** Look back from an event until enough fit. */
async function scan(index: Index, from: number, type: string, text: string, many: number, wanted: () => boolean) {
  const rows: number[] = [];
  const ends = /\W\d+$/.test(text) ? "(?!\\d)" : ""; // question-20 is not question-207
  const fits = new RegExp(text.replace(/\W/g, "\\$&") + ends);
  let next = from;
  for (; next > 0 && rows.length < many && wanted(); next--) {
    const e = await headerOf(index, next);
    if (type && index.types[e.type] !== type) continue;
    if (!text || fits.test(String(e.subject ?? "").toLowerCase())) rows.push(next);
  }
  return { rows, next };
}

const NEAR = 30; // effects that are named
const FAR = 12; // causes that are named

export function EventPage({ id }: { id: string }) {
  const { index, seq: moment } = useView();
  const seq = Number(id);
  const { value: e, error } = useLoad(async () => {
    const header = await headerOf(index, seq);
    const effects = await Promise.all((header.caused as number[]).slice(0, NEAR).map((one) => headerOf(index, one)));
    const causes = [header];
    while (causes[0].causation && causes.length <= FAR) causes.unshift(await headerOf(index, causes[0].causation));
    return { ...header, effects, causes } as Row;
  }, [index.run, seq]);
  const payload = useRow(index, "payloads", seq - 1);
  if (!(seq >= 1 && seq <= index.last)) return missing("events", `event ${id}`);
  if (!e) return <Loading error={error} />;
  const line = (one: Row) => [
    one.seq === seq ? <strong>{count(seq)}</strong> : <Seq seq={one.seq} />,
    ` ${index.types[one.type]} `,
    one.seq !== seq && muted(bdi(short(one.subject ?? ""))),
  ];
  const to = (other: number, text: string, query?: Row) =>
    other >= 1 && other <= index.last && <A to={{ page: "events", id: String(other), query }} children={text} />;
  return (
    <>
      <Title page="events" id={count(seq)} title={index.types[e.type]}>
        <p class="row">
          {to(seq - 1, `‹ event ${count(seq - 1)}`)}
          {to(seq + 1, `event ${count(seq + 1)} ›`)}
          {seq !== moment && to(seq, "Show every page as it was then", { at: `seq:${seq}` })}
        </p>
      </Title>
      <div class="columns">
        {stated("Header", [
          ["about", about(e.subject)],
          ["when", during(index, e)],
          ["time", `${time(e.ts_us)} UTC`],
          ["correlation", bdi(e.correlation || "–")],
          ["ordinal", count(e.ordinal)],
          ["commit, up to", <Seq seq={e.commit} />],
        ])}
        <Section title="Cause and effect">
          {list("chain", e.causes, line)}
          <h3>{e.caused.length ? `It caused ${number(e.caused.length, "event")}` : "It caused no other event."}</h3>
          {list("effects", e.effects, line)}
          {e.caused.length > NEAR && muted(`and ${count(e.caused.length - NEAR)} more`)}
        </Section>
      </div>
      <Section
        title="Payload"
        children={payload.value ? content(payload.value.payload) : <Loading error={payload.error} />}
      />
    </>
  );
}

function content(payload: Row) {
  const empty = (fact: any) => fact === null || fact === "" || (typeof fact === "object" && !Object.keys(fact).length);
  const show = (fact: any) => {
    const text = typeof fact === "object" ? JSON.stringify(fact, null, 2) : String(fact);
    return text.length > 100 || text.includes("\n") ? <Text text={text} /> : bdi(text);
  };
  const fields = Object.entries(payload);
  const blank = fields.filter(([, fact]) => empty(fact)).map(([name]) => words(name));
  return [
    facts(fields.map(([name, fact]) => !empty(fact) && [words(name), show(fact)])),
    blank.length > 0 && <p class="note">Empty: {blank.join(", ")}.</p>,
  ];
}
