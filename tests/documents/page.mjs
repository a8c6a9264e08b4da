// Runs the script of a page against a document that keeps text and nothing else, and prints what a reader would see.
import { readFileSync } from "node:fs";

const [page, description] = process.argv.slice(2).map((path) => readFileSync(path, "utf8"));

class Node {
  constructor(tag) { this.tag = tag; this.children = []; }
  append(...children) { this.children.push(...children); }
  replaceChildren(...children) { this.children = children; }
  get text() {
    const inner = this.children.map((child) => (child instanceof Node ? child.text : String(child))).join("");
    return ["p", "h1", "h2", "h3", "h4", "dt", "dd", "pre"].includes(this.tag) ? `\n${inner}\n` : inner;
  }
}

const found = { main: new Node("main"), nav: new Node("nav") };
const document = { querySelector: (name) => found[name], createElement: (tag) => new Node(tag) };
const location = { href: "https://example.test/docs", hash: "" };
const fetched = async (path) => ({ json: async () => JSON.parse(path === "openapi.json" ? description : "") });
const [, script] = page.match(/<script>([^]*?)<\/script>/);

const sessionStorage = { getItem: () => null };
new Function("document", "location", "fetch", "sessionStorage", script)(document, location, fetched, sessionStorage);
await new Promise((done) => setTimeout(done));
process.stdout.write(found.main.text);
