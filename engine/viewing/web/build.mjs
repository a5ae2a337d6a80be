// Builds ../static from src/ and vendor/: the same sources give the same bytes.
import { build } from "esbuild";
import { copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = (/** @type {string} */ name) => fileURLToPath(new URL(name, import.meta.url));
const licence = (/** @type {string} */ name) => readFileSync(here(`vendor/${name}/LICENSE`), "utf8");
const into = process.argv[2] ?? here("../static");
mkdirSync(into, { recursive: true });

/** @type {import("esbuild").BuildOptions} */
const common = { bundle: true, minify: true, target: "es2022", charset: "utf8", legalComments: "none", logLevel: "warning" };
await build({
  ...common,
  entryPoints: [here("src/app.tsx")],
  outfile: `${into}/app.js`,
  format: "iife",
  jsx: "automatic",
  jsxImportSource: "preact",
  alias: {
    preact: here("vendor/preact/preact.mjs"),
    "preact/jsx-runtime": here("vendor/preact/jsxRuntime.mjs"),
    "preact/hooks": here("vendor/preact/hooks.mjs"),
    uplot: here("vendor/uplot/uPlot.mjs"),
  },
  banner: { js: `/* mage-es view, with preact, uPlot and jsdiff:\n\n${["preact", "uplot", "diff"].map(licence).join("\n")}*/` },
});
await build({ ...common, entryPoints: [here("src/app.css")], outfile: `${into}/app.css` });
copyFileSync(here("src/index.html"), `${into}/index.html`);

const sizes = ["app.js", "app.css", "index.html"].map((name) => gzipSync(readFileSync(`${into}/${name}`)).length);
const total = sizes.reduce((a, b) => a + b);
console.log(`${total} bytes gzipped`);
if (total > 80_000) throw new Error(`the application is ${total} bytes gzipped, over 80,000`);
