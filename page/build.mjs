// Bundles the page's script: `node build.mjs OUT.js`. The crate oomph-explain calls this while it is built.
import { build } from "esbuild";

const out = process.argv[2];
if (!out) {
  console.error("usage: node build.mjs OUT.js");
  process.exit(2);
}
await build({
  entryPoints: [new URL("src/main.ts", import.meta.url).pathname],
  outfile: out,
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
