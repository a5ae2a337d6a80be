/** The words of the glossary, explained where they are shown. */
import type { ComponentChildren as Children } from "preact";
import { useEffect, useState } from "preact/hooks";

const meanings = new Map<string, [word: string, meaning: string]>();
/** What is written another way on a page. */
const SAME: Record<string, string> = {
  "answered by": "execution",
  "guidance calls": "guidance",
  "guidance calls at inference": "inference",
  "in use": "memory",
  learner: "execution",
  "learned in": "iteration",
  "of them guidance": "guidance",
  "of the state at": "marker",
  quarantined: "quarantine",
};

/** A word as `mage-es explain` finds it: without case, hyphens and the end of a plural. */
const plain = (word: string) =>
  word
    .toLowerCase()
    .replace(/[-_\s]+/g, " ")
    .trim()
    .replace(/ies$/, "y")
    .replace(/s$/, "");

export function learn(words: Record<string, string>) {
  for (const [word, meaning] of Object.entries(words)) meanings.set(plain(word), [word, meaning]);
}

const found = (text: unknown) =>
  typeof text === "string" ? meanings.get(plain(SAME[text.toLowerCase()] ?? text)) : undefined;

/** What makes an element explain a word, if the glossary has it. */
export const explained = (word: unknown) => (found(word) ? { "data-term": word } : {});

/** A word that explains itself to the pointer, to the keyboard and to a finger. */
export const term = (text: Children, word: unknown = text) =>
  found(word) ? <span class="term" tabIndex={0} children={text} {...explained(word)} /> : text;

const WIDE = 320;
const LATER_MS = 120; // so that the pointer can get to what it reads

type Place = { word: string; meaning: string; x: number; top: number; bottom: number };

/** The explanation of the word at the pointer, or that has the focus. */
export function Explanation() {
  const [at, put] = useState<Place | null>(null);
  useEffect(() => {
    const until = new AbortController();
    let later = 0;
    let owner: Element | null = null;
    const hide = () => {
      owner?.removeAttribute("aria-describedby");
      owner = null;
      put(null);
    };
    const show = ({ target }: Event) => {
      const element = target instanceof Element ? target : null;
      if (element?.closest("[role=tooltip]")) return clearTimeout(later);
      const of = element?.closest("[data-term]") ?? element?.closest(".field")?.querySelector("[data-term]");
      clearTimeout(later);
      if (!of) return;
      if (owner !== of) hide();
      owner = of;
      of.setAttribute("aria-describedby", "explanation");
      place();
    };
    const place = () => {
      const [word, meaning] = found(owner?.getAttribute("data-term")) ?? [];
      if (!owner || !word || !meaning) return;
      const { left, top, bottom } = owner.getBoundingClientRect();
      put({ word, meaning, x: Math.max(8, Math.min(left, innerWidth - WIDE - 8)), top, bottom });
    };
    const leave = () => {
      clearTimeout(later);
      later = window.setTimeout(hide, LATER_MS);
    };
    const key = (event: KeyboardEvent) => event.key === "Escape" && hide();
    for (const name of ["mouseover", "focusin"]) addEventListener(name, show, until);
    for (const name of ["mouseout", "focusout"]) addEventListener(name, leave, until);
    addEventListener("keydown", key, until);
    addEventListener("scroll", place, { capture: true, ...until });
    return () => until.abort();
  }, []);
  if (!at) return null;
  const low = at.bottom > innerHeight / 2;
  const place = low ? { bottom: `${innerHeight - at.top + 6}px` } : { top: `${at.bottom + 6}px` };
  return (
    <div role="tooltip" id="explanation" style={{ left: `${at.x}px`, ...place }}>
      <strong>{at.word}</strong> {at.meaning}
    </div>
  );
}
