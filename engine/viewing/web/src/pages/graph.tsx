/** The knowledge graph at a moment: four layers, each node where it always is. */
import { useMemo } from "preact/hooks";
import { needle } from "../address";
import { COLOURS } from "../charts";
import { at, grouped, record, type Table as Data, type Tables } from "../data";
import { A, Bar, Seq, bdi, memory, muted, sign } from "../marks";
import { Search, Section, Text } from "../parts";
import { facts, list, tabled } from "../tables";
import { LAYERS, Picture } from "../picture";
import { useView, useWanted } from "../view";
import { wordsOf } from "./memories";
import { count, decimal, number, share, short, words } from "../words";

const SIGNS = ["●", "■", "◆", "▲"];
const signOf = (layer: string) => sign(SIGNS[LAYERS.indexOf(layer)] ?? "·", COLOURS[LAYERS.indexOf(layer)] ?? "");

export function Graph({ t }: { t: Tables }) {
  const { seq, address } = useView();
  const { nodes, edges } = t;
  const chosen = address.id ? nodes.col.id.indexOf(address.id) : -1;
  const alive = at(nodes, seq);
  const linked = at(edges, seq);
  const links = linked.filter((n) => edges.col.derived[n]).length;
  const sizes = `${number(alive.length, "node")}, ${number(linked.length - links, "edge")}`;
  return (
    <>
      <Section title="Graph" tools={`${sizes}, ${number(links, "link")} of memories`}>
        <Find nodes={nodes} memories={t.memories} alive={alive} />
        {address.id && chosen < 0 && <p class="problem">This graph has no node {address.id}.</p>}
        <div class={`graph ${chosen >= 0 ? "chosen" : ""}`}>
          <Picture nodes={nodes} edges={edges} chosen={chosen} />
          {chosen >= 0 && <Node n={chosen} t={t} />}
        </div>
      </Section>
      <Skills mastery={t.mastery} />
    </>
  );
}

const nameOf = ({ col }: Data, n: number) => [signOf(col.layer[n]), bdi(col.label[n] || short(col.id[n]))];

/** A link to a node, which keeps the layers that are shown. */
function To({ nodes, n }: { nodes: Data; n: number }) {
  const { layers = "" } = useView().address.query;
  return <A to={{ page: "graph", id: nodes.col.id[n], query: { layers } }} children={nameOf(nodes, n)} />;
}

/** So many rows as links, and how many more there are. */
const some = (kind: string, rows: number[], many: number, show: (n: number) => any, none?: string) => (
  <>
    {list(kind, rows.slice(0, many), show, none)}
    {rows.length > many && muted(`and ${count(rows.length - many)} more`)}
  </>
);

const NONE = "No node at this moment has these words.";

/** Search for a node, and which layers are shown. */
function Find({ nodes, memories, alive }: { nodes: Data; memories: Data; alive: number[] }) {
  const { index, address, go } = useView();
  const { label, id, layer, kind } = nodes.col;
  const text = needle(address.query);
  const { value: whole } = useWanted(index, "texts", Boolean(text));
  const texts = useMemo(() => {
    const { id: ids = [] } = memories.col;
    return new Map((whole?.col.fields ?? []).map((fields, n) => [ids[n], wordsOf(fields)]));
  }, [memories, whole]);
  const wordsAt = (n: number) => `${label[n]}\n${id[n]}\n${texts.get(id[n].slice(id[n].indexOf("/") + 1)) ?? ""}`;
  const hits = text ? alive.filter((n) => wordsAt(n).toLowerCase().includes(text)) : [];
  const shown = Number(address.query.layers ?? 15);
  const turn = (bit: number) => go({ query: { layers: (shown ^ bit) === 15 ? "" : String(shown ^ bit) } }, true);
  const sizes = grouped(alive, (n) => layer[n]);
  return (
    <>
      <div class="filters">
        <Search label="Find a node" hint="a skill, a task type, words of a memory" />
        <fieldset class="layers">
          <legend>Layers</legend>
          {LAYERS.map((name, k) => (
            <label key={name}>
              <input type="checkbox" checked={Boolean(shown & (1 << k))} onChange={() => turn(1 << k)} />
              {signOf(name)}
              {name} {muted(count(sizes.get(name)?.length ?? 0))}
            </label>
          ))}
        </fieldset>
      </div>
      {text && (
        <div role="group" aria-label="Nodes found">
          {some("hits", hits, 12, (n) => [<To nodes={nodes} n={n} />, " ", muted(words(kind[n]))], NONE)}
        </div>
      )}
    </>
  );
}

/** A node and its neighbours. */
function Node({ n, t: { nodes, edges, mastery, memories } }: { n: number; t: Tables }) {
  const { seq, address } = useView();
  const { layers = "" } = address.query;
  const { id, layer, kind, from } = nodes.col;
  const { source, target, kind: kinds } = edges.col;
  const near = useMemo(() => at(edges, seq).filter((k) => source[k] === n || target[k] === n), [edges, seq, n]);
  const groups = grouped(near, (k) => `${words(kinds[k])} ${source[k] === n ? "→" : "←"}`);
  const name = id[n].split("/").slice(1).join("/");
  const row = kind[n] === "skill" ? at(mastery, seq).find((k) => mastery.col.skill[k] === name) : undefined;
  const skill = row === undefined ? null : record(mastery, row);
  const text = (title: string, of: string): any => skill?.[of] && [title, <Text text={skill[of]} limit={200} />];
  const whole = <A to={{ page: "graph", id: "", query: { layers } }} children="The whole graph" />;
  const typed = <A to={{ page: "questions", id: "", query: { type: name } }} children="Questions of this type" />;
  const other = (k: number) => <To nodes={nodes} n={source[k] === n ? target[k] : source[k]} />;
  return (
    <aside class="node" aria-label="Node">
      <h3>{nameOf(nodes, n)}</h3>
      <p class="muted">{`${words(kind[n])}, ${layer[n]} layer`}</p>
      {from[n] > seq && <p class="problem">Not there yet at this moment.</p>}
      {facts([
        ["created", <Seq seq={from[n]} />],
        skill && ["mastery", <Bar share={skill.mastery} text={decimal(skill.mastery)} />],
        skill && ["evidence", `${count(skill.successes)} right, ${count(skill.failures)} wrong`],
        skill?.parent && ["split from", bdi(skill.parent)],
        text("instruction", "prompt_template"),
        text("strategy", "strategy"),
        memories.col.id?.includes(name) && ["memory", memory(name)],
      ])}
      {kind[n] === "task_type" && <p>{typed}</p>}
      {[...groups].map(([title, rows]) => (
        <div key={title}>
          <h4>{[title, " ", muted(count(rows.length))]}</h4>
          {some("turned", rows, 40, other)}
        </div>
      ))}
      {!groups.size && <p class="muted">No neighbour at this moment.</p>}
      <p>{whole}</p>
    </aside>
  );
}

const NOTE = "Mastery rises faster than it falls; right and wrong count every answer alike.";

function Skills({ mastery }: { mastery: Data }) {
  const { seq, second } = useView();
  const c = mastery.col;
  const rows = at(mastery, seq).sort((p, q) => c.mastery[q] - c.mastery[p]);
  const then = second === null ? null : new Map(at(mastery, second).map((n) => [c.skill[n], n]));
  const before = (n: number) => c.mastery[then?.get(c.skill[n]) ?? -1];
  const asked = (n: number) => c.successes[n] + c.failures[n];
  const link = (n: number) => <A to={{ page: "graph", id: `skill/${c.skill[n]}` }} children={bdi(c.skill[n])} />;
  if (!rows.length) return null;
  return tabled({ title: "Skills", note: NOTE, tools: number(rows.length, "skill") }, rows, [
    ["skill", "grow", link, (n) => c.skill[n]],
    ["mastery", "num", (n) => <Bar share={c.mastery[n]} text={decimal(c.mastery[n])} />, (n) => c.mastery[n]],
    then && ["at B", "num", (n) => decimal(before(n)), before],
    ["right", "num", (n) => count(c.successes[n]), (n) => c.successes[n]],
    ["wrong", "num", (n) => count(c.failures[n]), (n) => c.failures[n]],
    ["share", "num", (n) => share(c.successes[n], asked(n)), (n) => c.successes[n] / asked(n)],
    ["instruction", "", (n) => (c.prompt_template[n] ? "its own" : "–")],
    ["strategy", "", (n) => (c.strategy[n] ? "its own" : "–")],
  ]);
}
