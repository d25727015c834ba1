// Bundles the page's script, and the licences of what is in it, into the crate that writes pages: `npm run build`.
//
// Both files are checked in, so that building oomph needs no Node; `test/bundle.test.mjs` compares them with the sources.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { argv } from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

const PAGE = dirname(fileURLToPath(import.meta.url));
const DIST = join(PAGE, "../crates/oomph-explain/dist");
export const SCRIPT = join(DIST, "page.js");
export const LICENCES = join(DIST, "page.licences.txt");

/** Every package that has code in the bundle. Nothing but its own files says under which terms. */
const PACKAGES = [
  { name: "echarts", files: ["LICENSE", "NOTICE"] },
  { name: "zrender", files: ["LICENSE"] },
  { name: "tslib", files: ["LICENSE.txt"] },
  { name: "uplot", files: ["LICENSE"] },
];

/** The script as the sources and the locked packages give it: the same bytes on every machine. */
export async function bundle() {
  const { outputFiles, metafile } = await build({
    // Names in the bundle are relative to here, whoever builds it.
    absWorkingDir: PAGE,
    entryPoints: ["src/main.ts"],
    outfile: "page.js",
    write: false,
    metafile: true,
    bundle: true,
    minify: true,
    format: "iife",
    target: "es2022",
    charset: "ascii",
    legalComments: "inline",
    banner: { js: "/* Contains Apache ECharts (Apache-2.0), zrender (BSD-3-Clause), tslib (0BSD) and uPlot (MIT). */" },
    // Styles travel inside the script, so that one file is all there is.
    loader: { ".css": "text" },
  });
  refuseUnnamedPackages(Object.keys(metafile.inputs));
  const script = outputFiles[0].text;
  if (/<\/script/i.test(script)) throw new Error("the bundle holds `</script`, which would end the element it stands in");
  return script;
}

/** The terms of every package in the bundle. */
export function licences() {
  const sections = PACKAGES.flatMap(({ name, files }) => files.map((file) => [`${name}: ${file}`, licenceText(name, file)]));
  return sections.map(([title, text]) => `${title}\n${"=".repeat(title.length)}\n\n${text}\n`).join("\n");
}

function licenceText(name, file) {
  const text = readFileSync(join(PAGE, "node_modules", name, file), "utf8").replaceAll("\r\n", "\n");
  return text.replace(/[ \t]+$/gm, "").trim();
}

function refuseUnnamedPackages(inputs) {
  const packages = inputs.map((path) => path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1]).filter(Boolean);
  const unnamed = [...new Set(packages)].filter((name) => !PACKAGES.some((known) => known.name === name));
  if (unnamed.length > 0) throw new Error(`the bundle holds ${unnamed.join(", ")}: add it to PACKAGES in build.mjs`);
}

if (import.meta.url === pathToFileURL(argv[1]).href) {
  writeFileSync(SCRIPT, await bundle());
  writeFileSync(LICENCES, licences());
}
