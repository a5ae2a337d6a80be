/** Small things in a line: links, signs, verdicts, shares. Every text is a text node: nothing here makes HTML of a string. */
import type { ComponentChildren as Children } from "preact";
import type { Change } from "./address";
import { useView } from "./view";
import { count, share, short, words } from "./words";

/** A link to another view. */
export function A({ to, label, ...rest }: { to: Change; label?: string; children?: Children; [more: string]: any }) {
  return <a href={useView().link(to)} aria-label={label} {...rest} />;
}

/** A link to the same page at another moment. */
export const moment = (name: string) => <A to={{ query: { at: name } }} children={name} />;

/** A link to an event. */
export function Seq({ seq }: { seq: number | null }) {
  if (!seq) return muted("–");
  return <A to={{ page: "events", id: String(seq) }} class="num" children={count(seq)} />;
}

/** A text from a log, isolated from the direction of what is around it. */
export const bdi = (text: any) => <bdi>{text}</bdi>;
export const toned = (tone: string, text: Children) => <span class={tone}>{text}</span>;
export const muted = (text: Children) => toned("muted", text);

export const question = (id: string, title: string | null, query?: Record<string, string>) => (
  <A to={{ page: "questions", id, query }} title={id} children={bdi(title || id)} />
);
export const memory = (id: string, title?: string | null) => (
  <A to={{ page: "memories", id }} title={id} children={title ? bdi(title) : <code>{short(id)}</code>} />
);

const SIGNS: Record<string, [sign: string, colour: string]> = {
  correct: ["●", "good"],
  accepted: ["●", "good"],
  active: ["●", "good"],
  wrong: ["✕", "bad"],
  soft_rollback: ["↶", "bad"],
  hard_rollback: ["↶", "bad"],
  unanswered: ["–", "warn"],
  undecided: ["?", "warn"],
  quarantined: ["■", "warn"],
  waiting: ["□", "warn"],
  approved: ["□", "good"],
  rejected: ["■", "bad"],
  open: ["…", "quiet"],
  finished: ["●", "good"],
  served: ["●", "good"],
  unfinished: ["…", "quiet"],
  damaged: ["✕", "bad"],
  unread: ["✕", "bad"],
};

/** A sign with its colour; its meaning is beside it. */
export const sign = (text: string, colour: string) => (
  <span class={`sign ${colour}`} aria-hidden="true" children={text} />
);

/** A verdict or a status by its sign alone, for eyes and screen readers. */
export function mark(of: string) {
  const [text, colour] = SIGNS[of] ?? ["·", "quiet"];
  return <span class={`sign ${colour}`} role="img" aria-label={words(of)} title={words(of)} children={text} />;
}

/** A verdict or a status: sign, colour and word. */
export const verdict = (of: string) => toned("verdict", [sign(...(SIGNS[of] ?? ["·", "quiet"])), words(of)]);

/** So many right of so many. */
export const ratio = (right: number, all: number) =>
  all ? <>{[muted(`${right}/${all}`), " ", share(right, all)]}</> : "–";

/** A share as a bar, its number beside it. */
export function Bar({ share: part, text, tone = "" }: { share: number | null; text: string; tone?: string }) {
  const filled = <i style={{ width: `${100 * Math.max(0, Math.min(1, part ?? 0))}%` }} />;
  const rail = <span class={`rail ${tone}`} aria-hidden="true" children={filled} />;
  return toned("bar", [toned("num", text), rail]);
}
