/** For a visitor with a key: the way out, and a link for someone who has none. */
import { useState } from "preact/hooks";
import { chunk } from "./data";
import { bdi } from "./marks";
import { Command, Loading } from "./parts";
import { useLoad, useView } from "./view";
import { time } from "./words";

let key = "";

/** Take in by whose key a server shows its runs; a file and a guest have none. */
export const admit = (name = "") => void (key = name);

export const Who = () =>
  key ? <span class="muted about" children={[bdi(key), " ", <a href="login" children="Log out" />]} /> : null;

/** A link to what is shown now, asked for when this is opened. */
export function Share() {
  const { index } = useView();
  const [open, setOpen] = useState(false);
  const ask = async () => (open ? chunk(`${index.run}/link`) : null);
  const { value, error } = useLoad(ask, [open, index.run]);
  if (!key) return null;
  const shown = value && [
    <Command text={new URL(`${value.link}/`, location.href).href + location.hash} />,
    <p>Until {time(value.expires * 1e6)} UTC it shows this run alone, to anyone.</p>,
  ];
  return (
    <details class="share" onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>Share</summary>
      <div children={shown || <Loading error={error} />} />
    </details>
  );
}
