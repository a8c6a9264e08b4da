// Compiles a folder with this package's Python: node compile.mjs <pyodide.mjs> <folder> <settings as JSON>.
// The settings are what compileall takes, and the magic number that the bytecode must have.
import { pathToFileURL } from "node:url";

const [module, folder, settings] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(module));
const python = await loadPyodide();
python.mountNodeFS("/folder", folder);
python.globals.set("settings", settings);
const program = `
import compileall, importlib.util, json, py_compile

given = json.loads(settings)
magic = importlib.util.MAGIC_NUMBER.hex()
if magic != given["magic"]:
    raise RuntimeError(f"this Python's bytecode is {magic}, and {given['magic']} was wanted")
compileall.compile_dir(
    "/folder",
    quiet=2,
    force=True,
    legacy=given["legacy"],
    stripdir="/folder",
    prependdir=given["prefix"],
    invalidation_mode=py_compile.PycInvalidationMode[given["mode"]],
)
`;
try {
  python.runPython(program);
} catch (error) {
  console.error(error.message.trim().split("\n").at(-1));
  process.exit(1);
}
