/** The pieces that pages are made of. Every text is a text node: nothing here makes HTML of a string. */
import type { ComponentChildren as Children } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Row } from "./data";
import { A, bdi, muted } from "./marks";
import { explained, term } from "./terms";
import { useView } from "./view";
import { capital, count } from "./words";

export type Maybe<T> = T | "" | false | null | undefined;

export type About = { title: Children; note?: Children; tools?: Children; id?: string };

export const Section = ({ title, note, tools, id, children }: About & { children?: Children }) => (
  <section id={id}>
    <header class="row" children={[<h2>{term(title)}</h2>, typeof tools === "string" ? muted(tools) : tools]} />
    {note && <p class="note">{note}</p>}
    {children}
  </section>
);

/** Shows the current link of a list in its middle. `scrollIntoView` would move the start of the Tab key as well. */
export function centre(list: Element | null) {
  const current = list?.querySelector("[aria-current]");
  if (!list || !current) return;
  const [outer, inner] = [list, current].map((one) => one.getBoundingClientRect());
  list.scrollBy(inner.x - outer.x - outer.width / 2, inner.y - outer.y - outer.height / 2);
}

/** What is folded away until it is asked for. */
export const fold = (summary: Children, content: Children, open = false) => (
  <details open={open} children={[<summary>{summary}</summary>, content]} />
);

/** What is not there, and what to do. */
export const Empty = ({ title, children }: { title: string; children?: Children }) => (
  <div class="empty" children={[<strong>{title}</strong>, children && <div>{children}</div>]} />
);

/** What is not there yet at this moment. */
export const early = (title: string) => <Empty title={title} children="Move the handle below to the right." />;

/** The page of a thing that a run does not have. */
export const missing = (page: string, what: string) => (
  <Empty title={`This run has no ${what}`} children={<A to={{ page, id: "" }} children={`All ${page}`} />} />
);

/** Until something is read; `share`: of the log. */
export function Loading({ error, share = 0 }: { error: string; share?: number }) {
  if (error) return <Empty title="This part could not be shown" children={error} />;
  const says = share ? `Reading the log: ${Math.floor(100 * share)} %` : "Reading …";
  return <p class="muted loading" role="status" children={says} />;
}

/** The heading of a page about one thing. */
export function Title({
  page,
  id,
  title,
  children,
}: {
  page: string;
  id: string;
  title: Children;
  children?: Children;
}) {
  const all = <A to={{ page, id: "" }} children={capital(page)} />;
  return (
    <header class="title" children={[<p class="crumbs">{[all, " / ", bdi(id)]}</p>, <h1>{title}</h1>, children]} />
  );
}

/** A line for the command line, to copy. */
export function Command({ text }: { text: string }) {
  const [said, say] = useState("");
  const select = () => say("Select it to copy");
  const copy = () => navigator.clipboard?.writeText(text).then(() => say("Copied"), select) ?? select();
  useEffect(() => say(""), [text]);
  const button = <button onClick={copy} aria-label={`Copy: ${text}`} children={said || "Copy"} />;
  return <div class="command" children={[<code>{text}</code>, button]} />;
}

/** A wide or high thing that scrolls by itself, with the keyboard too. */
export const Scroll = ({ label, kind = "", box, ...rest }: { label: string; kind?: string; [more: string]: any }) => (
  <div class={`scroll ${kind}`} role="region" aria-label={label} tabIndex={0} ref={box} {...rest} />
);

export type Option = string | [value: string, text: string];

/** What to choose from, and what is chosen. */
export function options(rest: Row, value: string, of: Option[], set: (value: string) => void) {
  const pairs = of.map((one) => (typeof one === "string" ? [one, one] : one));
  const option = ([key, text]: string[]) => <option key={key} value={key} children={text} />;
  return <select {...rest} value={value} onChange={(e) => set(e.currentTarget.value)} children={pairs.map(option)} />;
}

export const field = (label: string, input: Children, kind = "") => (
  <label class={`field ${kind}`} children={[<span {...explained(label)}>{label}</span>, input]} />
);

/** A field whose value is a part of the address. */
export function Choice(props: { name: string; label: string; of: Option[]; none?: string }) {
  const { address, go } = useView();
  const set = (value: string) => go({ query: { [props.name]: value } }, true);
  const of: Option[] = [["", props.none ?? "all"], ...props.of];
  return field(props.label, options({}, address.query[props.name] ?? "", of, set));
}

export function Search({ label = "Search", hint }: { label?: string; hint: string }) {
  const { address, go } = useView();
  const set = (e: { currentTarget: HTMLInputElement }) => go({ query: { q: e.currentTarget.value } }, true);
  const more = { placeholder: hint, spellcheck: false, "data-search": "" };
  return field(label, <input type="search" value={address.query.q ?? ""} onInput={set} {...more} />, "wide");
}

/** The beginning of a text of which so many letters are left; `more` shows more of it. */
export const rest = (left: number, more: () => void) =>
  left > 0 && <button onClick={more} children={`Show more: ${count(left)} characters left`} />;

/** A long text, its end folded away until it is asked for. */
export function Text({ text, limit = 6_000 }: { text: string; limit?: number }) {
  const [shown, setShown] = useState(limit);
  useEffect(() => setShown(limit), [text]);
  return (
    <>
      <pre class="text" dir="auto" children={text.slice(0, shown)} />
      {rest(text.length - shown, () => setShown(shown + 50_000))}
    </>
  );
}
