// Compiles a module of the page on the fly, so that tests import the source itself.
import { build } from "esbuild";

export async function load(module) {
  const path = new URL(`../src/${module}`, import.meta.url).pathname;
  const { outputFiles } = await build({ entryPoints: [path], bundle: true, format: "esm", target: "es2022", write: false });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}
