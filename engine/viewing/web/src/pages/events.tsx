/** The log itself: every event, what caused it and what it caused. */
import { Fragment, h } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { needle } from "../address";
import { row } from "../data";
import type { Index, Row } from "../data";
import { A, Seq, bdi, muted } from "../marks";
import { Choice, Empty, Facts, List, Loading, Search, Section, Table, Text, Title } from "../parts";
import { useLoad, useRow, useView } from "../view";
import { count, number, short, time, when, words } from "../words";

export function Events() {
  const { index, address } = useView();
  if (address.id) return <One seq={Number(address.id)} />;
  if (index.chunks.events) return <Headers />;
  return <Empty title="This copy has no events" children={`mage-es view ${index.named} --to FOLDER has them.`} />;
}

const PAGES: Record<string, string> = {
  question: "questions",
  memory: "memories",
  tool: "memories",
  recipe: "memories",
  skill: "graph",
  task_type: "graph",
};

/** What an event is about, on its own page where there is one. */
function About({ subject }: { subject: string }) {
  const [kind, ...id] = subject.split("/");
  const page = PAGES[kind];
  if (!page) return bdi(short(subject) || "–");
  return (
    <A to={{ page, id: page === "graph" ? subject : id.join("/") }} children={bdi(`${kind}/${short(id.join("/"))}`)} />
  );
}

/** The iteration and phase of an event; what is in none, such as an exam, is after one. */
function during({ markers }: Index, e: Row, seq: number) {
  const ended = markers.findLast((marker) => !marker.phase && marker.seq < seq);
  if (e.iteration < 0 && ended) return `after ${ended.name}`;
  return e.iteration < 0 && !e.phase ? "–" : when(e.iteration, e.phase);
}

const ENOUGH = 2_000;

interface Found {
  key: string;
  rows: number[];
  next: number;
}

function Headers() {
  const { index, seq, address } = useView();
  const [, again] = useState(0);
  const headers = useRef(new Map<number, Row | null>());
  const type = address.query.type ?? "";
  const text = needle(address.query);
  const key = `${type}\n${text}\n${seq}`;
  const [found, setFound] = useState<Found>({ key: "", rows: [], next: -1 });
  const [busy, setBusy] = useState(false);
  const filtered = Boolean(type || text);
  const here = found.key === key;
  const look = (from: number, had: number[], wanted: () => boolean) => {
    setBusy(true);
    scan(index, from, type, text, wanted).then(({ rows, next }) => {
      if (!wanted()) return;
      setBusy(false);
      setFound({ key, rows: [...had, ...rows], next });
    });
  };
  useEffect(() => {
    let wanted = true;
    if (filtered) look(seq - 1, [], () => wanted);
    return () => void (wanted = false);
  }, [key]);
  /** What to show of a header, read as it comes in sight. */
  const cell = (show: (e: Row, seq: number) => any) => (n: number) => {
    const header = headers.current.get(n);
    if (header) return show(header, n + 1);
    if (header === undefined) {
      headers.current.set(n, null);
      row(index, "events", n).then(
        (got) => (headers.current.set(n, got), again((old) => old + 1)),
        () => headers.current.delete(n),
      );
    }
    return muted("…");
  };
  const rows = !filtered ? Array.from({ length: seq }, (_, k) => seq - 1 - k) : here ? found.rows : [];
  const further = () => look(found.next, found.rows, () => true);
  const back = busy ? "Reading …" : `Look further back, before event ${count(found.next + 2)}`;
  const title = filtered && !here ? "Reading …" : filtered ? "No event fits these filters so far" : "No event so far";
  const more = filtered && here && found.next >= 0;
  const total = number(rows.length, "event");
  const reset = <A to={{ query: { type: "", q: "" } }} children="Show all events" />;
  return (
    <Section title="Events" note="Newest first, up to the moment shown." tools={more ? `the newest ${total}` : total}>
      <div class="filters">
        <Search label="About" hint="a question, a memory, any subject" />
        <Choice name="type" label="Type" of={[...index.types].sort().map((one) => [one, one])} />
      </div>
      <Table
        label="Events"
        rows={rows}
        none={<Empty title={title} children={filtered && here && reset} />}
        columns={[
          ["event", "num", (n) => <Seq seq={n + 1} />],
          ["type", "", cell((e) => <A to={{ query: { type: index.types[e.type] } }} children={index.types[e.type]} />)],
          ["subject", "grow", cell((e) => <About subject={e.subject} />)],
          ["when", "", cell((e, at) => during(index, e, at))],
          ["cause", "num", cell((e) => <Seq seq={e.causation} />)],
          ["caused", "num", cell((e) => (e.caused?.length ? count(e.caused.length) : "–"))],
          ["time, UTC", "num", cell((e) => time(e.ts_us))],
        ]}
      />
      {more && <button type="button" onClick={further} disabled={busy} children={back} />}
    </Section>
  );
}

/** Read back from a row until enough events fit. */
async function scan(index: Index, from: number, type: string, text: string, wanted: () => boolean) {
  const rows: number[] = [];
  const ends = /\W\d+$/.test(text) ? "(?!\\d)" : ""; // question-20 is not question-207
  const fits = new RegExp(text.replace(/\W/g, "\\$&") + ends);
  let n = from;
  for (; n >= 0 && rows.length < ENOUGH && wanted(); n--) {
    const header = await row(index, "events", n);
    if (!header || (type && index.types[header.type] !== type)) continue;
    if (!text || fits.test(String(header.subject ?? "").toLowerCase())) rows.push(n);
  }
  return { rows, next: n };
}

const NEAR = 30; // effects that are named
const FAR = 12; // causes that are named

const headersOf = (index: Index, seqs: number[]): Promise<Row[]> =>
  Promise.all(seqs.map(async (seq) => ({ seq, ...(await row(index, "events", seq - 1)) })));

function One({ seq }: { seq: number }) {
  const { index, seq: moment } = useView();
  const header = useRow(index, "events", seq - 1);
  const payload = useRow(index, "payloads", seq - 1);
  const caused: number[] = header.value?.caused ?? [];
  const effects = useLoad(() => headersOf(index, caused.slice(0, NEAR)), [index.run, seq, caused.length]);
  const causes = useLoad(async () => {
    const chain: Row[] = [];
    for (let at = header.value?.causation ?? 0; at && chain.length < FAR; at = chain[0].causation)
      chain.unshift(...(await headersOf(index, [at])));
    return chain;
  }, [index.run, seq, header.value?.causation]);
  const all = <A to={{ page: "events", id: "" }} children="All events" />;
  if (!(seq >= 1 && seq <= index.last)) return <Empty title={`This run has no event ${seq}`} children={all} />;
  const e = header.value;
  if (!e) return <Loading error={header.error} />;
  const line = (one: Row) => [
    <Seq seq={one.seq} />,
    ` ${index.types[one.type]} `,
    muted(bdi(short(one.subject ?? ""))),
  ];
  const beside = (to: number, text: string) =>
    to >= 1 && to <= index.last && <A to={{ page: "events", id: String(to) }} children={text} />;
  const then = { page: "events", id: String(seq), query: { at: `seq:${seq}` } };
  return (
    <Fragment>
      <Title page="events" all="Events" id={count(seq)} title={index.types[e.type]}>
        <p class="row">
          {beside(seq - 1, `‹ event ${count(seq - 1)}`)}
          {beside(seq + 1, `event ${count(seq + 1)} ›`)}
          {seq !== moment && <A to={then} children="Show every page as it was then" />}
        </p>
      </Title>
      <div class="columns">
        <Section title="Header">
          <Facts
            rows={[
              ["about", <About subject={e.subject} />],
              ["when", during(index, e, seq)],
              ["time", `${time(e.ts_us)} UTC`],
              ["correlation", bdi(e.correlation || "–")],
              ["ordinal", count(e.ordinal)],
              ["commit, up to", <Seq seq={e.commit} />],
            ]}
          />
        </Section>
        <Section title="Cause and effect">
          <List
            kind="chain"
            items={[...(causes.value ?? []).map(line), [<strong>{count(seq)}</strong>, " ", index.types[e.type]]]}
          />
          <h3>{caused.length ? `It caused ${number(caused.length, "event")}` : "It caused no other event."}</h3>
          <List kind="effects" items={(effects.value ?? []).map(line)} />
          {caused.length > NEAR && muted(`and ${count(caused.length - NEAR)} more`)}
        </Section>
      </div>
      <Section title="Payload">
        {payload.value ? <Payload payload={payload.value.payload ?? {}} /> : <Loading error={payload.error} />}
      </Section>
    </Fragment>
  );
}

function Payload({ payload }: { payload: Row }) {
  const empty = (fact: any) => fact === null || fact === "" || (typeof fact === "object" && !Object.keys(fact).length);
  const show = (fact: any) => {
    if (typeof fact === "object") return <Text text={JSON.stringify(fact, null, 2)} />;
    const text = String(fact);
    return text.length > 100 || text.includes("\n") ? <Text text={text} /> : bdi(text);
  };
  const fields = Object.entries(payload);
  const blank = fields.filter(([, fact]) => empty(fact)).map(([name]) => words(name));
  return (
    <Fragment>
      <Facts rows={fields.map(([name, fact]) => !empty(fact) && [words(name), show(fact)])} />
      {blank.length > 0 && <p class="note">Empty: {blank.join(", ")}.</p>}
    </Fragment>
  );
}
