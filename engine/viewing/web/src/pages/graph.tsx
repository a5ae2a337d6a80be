/** The knowledge graph at a moment: four layers, each node where it always is. */
import { Fragment, h } from "preact";
import { useMemo } from "preact/hooks";
import { needle } from "../address";
import { at, grouped } from "../data";
import type { Table as Data, Tables } from "../data";
import { A, Bar, Seq, bdi, memory, muted, sign } from "../marks";
import { Empty, Facts, List, Search, Section, Table, Text } from "../parts";
import { COLOURS, LAYERS, Picture } from "../picture";
import { useView } from "../view";
import { count, decimal, number, share, short, words } from "../words";

const SIGNS = ["●", "■", "◆", "▲"];

export function Graph({ t }: { t: Tables }) {
  const { index, seq, address } = useView();
  const { nodes, edges, mastery } = t;
  if (!nodes.rows) {
    const why =
      index.kind === "baseline" ? "A baseline learns nothing." : "Its first nodes come at the start of a run.";
    return <Empty title="There is no graph in this run" children={why} />;
  }
  const chosen = address.id ? nodes.col.id.indexOf(address.id) : -1;
  const alive = at(nodes, seq);
  const { derived = [] } = edges.col;
  const linked = at(edges, seq);
  const links = linked.filter((n) => derived[n]).length;
  const sizes = [
    number(alive.length, "node"),
    number(linked.length - links, "edge"),
    `${number(links, "link")} of memories`,
  ];
  return (
    <Fragment>
      <Section title="Graph" tools={sizes.join(", ")}>
        <Find nodes={nodes} alive={alive} />
        {address.id && chosen < 0 && <p class="problem">This graph has no node {address.id}.</p>}
        <div class={`graph ${chosen >= 0 ? "chosen" : ""}`}>
          <Picture nodes={nodes} edges={edges} chosen={chosen} />
          {chosen >= 0 && <Node n={chosen} t={t} />}
        </div>
      </Section>
      <Skills mastery={mastery} />
    </Fragment>
  );
}

/** A link to a node, which keeps the layers that are shown. */
function To({ nodes, n }: { nodes: Data; n: number }) {
  const { address } = useView();
  const { id, label, layer } = nodes.col;
  return (
    <A to={{ page: "graph", id: id[n], query: { layers: address.query.layers ?? "" } }}>
      {signOf(layer[n])}
      {bdi(label[n] || short(id[n]))}
    </A>
  );
}

const signOf = (layer: string) => sign(SIGNS[LAYERS.indexOf(layer)] ?? "·", COLOURS[LAYERS.indexOf(layer)] ?? "");

const HITS = 12;

/** Search for a node, and which layers are shown. */
function Find({ nodes, alive }: { nodes: Data; alive: number[] }) {
  const { address, go } = useView();
  const { label, id, layer, kind } = nodes.col;
  const text = needle(address.query);
  const hits = text ? alive.filter((n) => `${label[n]}\n${id[n]}`.toLowerCase().includes(text)) : [];
  const shown = Number(address.query.layers ?? 15);
  const turn = (bit: number) => go({ query: { layers: (shown ^ bit) === 15 ? "" : String(shown ^ bit) } }, true);
  const sizes = new Map<string, number>();
  for (const n of alive) sizes.set(layer[n], (sizes.get(layer[n]) ?? 0) + 1);
  return (
    <Fragment>
      <div class="filters">
        <Search label="Find a node" hint="a skill, a task type, words of a memory" />
        <fieldset class="layers">
          <legend>Layers</legend>
          {LAYERS.map((name, k) => (
            <label key={name}>
              <input type="checkbox" checked={Boolean(shown & (1 << k))} onChange={() => turn(1 << k)} />
              {signOf(name)}
              {name} {muted(count(sizes.get(name) ?? 0))}
            </label>
          ))}
        </fieldset>
      </div>
      {text && (
        <List
          kind="hits"
          label="Nodes found"
          items={[
            ...hits.slice(0, HITS).map((n) => [<To nodes={nodes} n={n} />, " ", muted(words(kind[n]))]),
            hits.length > HITS && muted(`and ${count(hits.length - HITS)} more`),
            !hits.length && muted("No node at this moment has these words."),
          ]}
        />
      )}
    </Fragment>
  );
}

/** A node and its neighbours. */
function Node({ n, t }: { n: number; t: Tables }) {
  const { seq, address } = useView();
  const { nodes, edges, mastery: m, memories } = t;
  const { id, label, layer, kind, from } = nodes.col;
  const e = edges.col;
  const near = useMemo(() => at(edges, seq).filter((k) => e.source[k] === n || e.target[k] === n), [edges, seq, n]);
  const name = id[n].split("/").slice(1).join("/");
  const skill = kind[n] === "skill" ? at(m, seq).find((k) => [name, id[n]].includes(m.col.skill[k])) : undefined;
  const of = (column: string) => (skill === undefined ? null : m.col[column][skill]);
  const way = (k: number) => `${words(e.kind[k])} ${e.source[k] === n ? "→" : "←"}`;
  const groups = [...grouped(near, way)];
  const long = (title: string, text: string | null): [string, any] | "" =>
    text ? [title, <Text text={text} limit={200} />] : "";
  return (
    <aside class="node" aria-label="Node">
      <h3>
        {signOf(layer[n])}
        {bdi(label[n] || short(id[n]))}
      </h3>
      <p class="muted">{`${words(kind[n])}, ${layer[n]} layer`}</p>
      {from[n] > seq && <p class="problem">Not there yet at this moment.</p>}
      <Facts
        rows={[
          ["created", <Seq seq={from[n]} />],
          skill !== undefined && ["mastery", <Bar share={of("mastery")} text={decimal(of("mastery"))} />],
          skill !== undefined && ["evidence", `${count(of("successes"))} right, ${count(of("failures"))} wrong`],
          of("parent") && ["split from", bdi(of("parent"))],
          long("instruction", of("prompt_template")),
          long("strategy", of("strategy")),
          memories.col.id?.includes(name) && ["memory", memory(name)],
        ]}
      />
      {kind[n] === "task_type" && (
        <p>
          <A to={{ page: "questions", id: "", query: { type: name } }} children="Questions of this type" />
        </p>
      )}
      {groups.map(([title, list]) => (
        <Fragment key={title}>
          <h4>
            {title} {muted(count(list.length))}
          </h4>
          <List
            kind="turned"
            items={list.slice(0, 40).map((k) => (
              <To nodes={nodes} n={e.source[k] === n ? e.target[k] : e.source[k]} />
            ))}
          />
          {list.length > 40 && muted(`and ${count(list.length - 40)} more`)}
        </Fragment>
      ))}
      {!groups.length && <p class="muted">No neighbour at this moment.</p>}
      <p>
        <A to={{ page: "graph", id: "", query: { layers: address.query.layers ?? "" } }} children="The whole graph" />
      </p>
    </aside>
  );
}

const NOTE = "Mastery rises faster than it falls; right and wrong count every answer alike.";

function Skills({ mastery }: { mastery: Data }) {
  const { seq, second } = useView();
  const c = mastery.col;
  const rows = at(mastery, seq).sort((p, q) => c.mastery[q] - c.mastery[p]);
  const then = second === null ? null : new Map(at(mastery, second).map((n) => [c.skill[n], n]));
  const to = (skill: string) => ({ page: "graph", id: skill.startsWith("skill/") ? skill : `skill/${skill}` });
  if (!rows.length) return null;
  return (
    <Section title="Skills" note={NOTE} tools={number(rows.length, "skill")}>
      <Table
        label="Skills"
        rows={rows}
        columns={[
          ["skill", "grow", (n) => <A to={to(c.skill[n])} children={bdi(c.skill[n])} />],
          ["mastery", "num", (n) => <Bar share={c.mastery[n]} text={decimal(c.mastery[n])} />],
          then && ["at B", "num", (n) => decimal(c.mastery[then.get(c.skill[n]) ?? -1])],
          ["right", "num", (n) => count(c.successes[n])],
          ["wrong", "num", (n) => count(c.failures[n])],
          ["share", "num", (n) => share(c.successes[n], c.successes[n] + c.failures[n])],
          ["instruction", "", (n) => (c.prompt_template[n] ? "its own" : "–")],
          ["strategy", "", (n) => (c.strategy[n] ? "its own" : "–")],
        ]}
      />
    </Section>
  );
}
