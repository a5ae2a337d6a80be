/**
 * Every text that a page shows goes through here, whichever part of the page makes it: what turns the direction of text or
 * cannot be seen is named, so that what is read is what is there.
 */
import { Fragment, options } from "preact";

// Joiners and variants do their work in some scripts and in signs made of several; elsewhere they only hide.
const HIDDEN = new RegExp(
  "[\\0-\\x08\\x0b-\\x1f\\x7f-\\x9f\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b\\u200e\\u200f" +
    "\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff0-\\ufffb\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}" +
    "\\u{e0000}-\\u{e0fff}]|(?<![^\\0-\\u024f])[\\u200c\\u200d]|(?<!\\p{Emoji})[\\ufe00-\\ufe0f]",
  "gu",
);

const named = (c: string) => `⟨${(c.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, "0")}⟩`;

export const visible = (text: string) => text.replace(HIDDEN, named);

const shown = (of: any): any => (typeof of === "string" ? visible(of) : Array.isArray(of) ? of.map(shown) : of);

const READ = ["children", "title", "aria-label", "aria-valuetext", "placeholder"];
const before = options.vnode;
options.vnode = (vnode) => {
  const { type, props } = vnode as { type: unknown; props: Record<string, unknown> };
  if (typeof type === "string" || type === Fragment)
    for (const name of READ) if (props[name] !== undefined) props[name] = shown(props[name]);
  before?.(vnode);
};
