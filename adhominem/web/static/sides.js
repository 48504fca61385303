// The sides of a form: several texts each, and files, chosen or dropped, alone or as a folder.
import { say } from "./answer.js";

export const find = (id) => document.getElementById(id);
export const chosen = new Map(); // files, by side
const folders = new WeakMap(); // of files, the folder that each lies in
const READABLE = /\.(txt|md|docx|pdf|odt|jsonl)$/i;

// What a file is called on the server: with its folder where that is the author.
export function nameOf(side, file) {
  const folder = "folders" in side.dataset ? folders.get(file) : "";
  return folder ? `${folder}/${file.name}` : file.name;
}

// Files of a folder that can be read, each with the folder it lies in.
export function readable(files, folderOf) {
  const kept = [...files].filter((file) => READABLE.test(file.name) && !file.name.startsWith("."));
  for (const file of kept) folders.set(file, folderOf(file));
  const place = (file) => `${folders.get(file)}/${file.name}`;
  return kept.sort((one, other) => place(one).localeCompare(place(other), "en", { numeric: true }));
}
export const parentOf = (file) => file.webkitRelativePath.split("/").slice(-2, -1)[0] ?? "";
export const folderOf = (file) => folders.get(file) ?? "";

async function walk(entry, folder, files) {
  if (entry.isFile) {
    const file = await new Promise((take, fail) => entry.file(take, fail));
    folders.set(file, folder);
    files.push(file);
    return;
  }
  const reader = entry.createReader();
  for (;;) { // a hundred at a time
    const entries = await new Promise((take, fail) => reader.readEntries(take, fail));
    if (!entries.length) break;
    for (const inner of entries) await walk(inner, entry.name, files);
  }
}

// Calls `take` with the files that were dropped, those of folders among them.
export function takeDropped(transfer, take) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.some((entry) => entry.isDirectory)) {
    take([...transfer.files]);
    return;
  }
  const files = [];
  (async () => {
    for (const entry of entries) await walk(entry, "", files);
    take(readable(files, folderOf));
  })().catch(() => say("The folder cannot be read."));
}

// Lights up where files can be dropped, and takes them there.
export function acceptDrops(place, take) {
  const holdsFiles = (event) => event.dataTransfer?.types.includes("Files");
  place.addEventListener("dragover", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    place.classList.add("over");
  });
  place.addEventListener("dragleave", (event) => {
    if (!place.contains(event.relatedTarget)) place.classList.remove("over");
  });
  place.addEventListener("drop", (event) => {
    place.classList.remove("over");
    if (!holdsFiles(event)) return;
    event.preventDefault();
    takeDropped(event.dataTransfer, take);
  });
}

export function setUp(side) {
  const name = side.dataset.side;
  const input = side.querySelector("input[type=file]");
  const list = side.querySelector(".files");
  const texts = side.querySelector(".texts");
  chosen.set(side, []);

  // `dir="auto"` takes a minute with a text of some megabytes: the first letters decide.
  const rightToLeft = /^[^\p{L}]*[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]/u;
  const count = () => {
    const areas = [...texts.querySelectorAll("textarea")];
    for (const area of areas) area.dir = rightToLeft.test(area.value.slice(0, 1000)) ? "rtl" : "ltr";
    const words = areas.map((area) => area.value.trim().split(/\s+/).filter(Boolean).length);
    const all = words.reduce((sum, number) => sum + number, 0);
    find(`${name}-count`).textContent = all ? `${all.toLocaleString("en")} ${all === 1 ? "word" : "words"}` : "";
  };

  const showFiles = () => {
    list.replaceChildren(
      ...chosen.get(side).map((file, at) => {
        const row = document.createElement("li");
        const label = document.createElement("span");
        const size = Math.max(1, Math.round(file.size / 1000)).toLocaleString("en");
        label.textContent = `${nameOf(side, file)}, ${size} kB`;
        const remove = document.createElement("button");
        remove.type = "button";
        remove.className = "plain";
        remove.textContent = "Remove";
        remove.setAttribute("aria-label", `Remove ${nameOf(side, file)}`);
        remove.addEventListener("click", () => {
          chosen.get(side).splice(at, 1);
          showFiles();
          input.focus();
        });
        row.append(label, remove);
        return row;
      }),
    );
  };

  const take = (files) => {
    if (!files.length) return;
    chosen.get(side).push(...files);
    showFiles();
    say(`${files.length === 1 ? files[0].name : `${files.length} files`} added to ${side.dataset.called}.`);
  };

  const addText = () => {
    const number = texts.children.length + 1;
    const text = texts.firstElementChild.cloneNode(true);
    const area = text.querySelector("textarea");
    const label = text.querySelector("label");
    area.id = `${name}-text-${number}`;
    area.value = "";
    area.rows = 5;
    area.removeAttribute("aria-invalid");
    label.htmlFor = area.id;
    label.textContent = texts.dataset.another;
    const remove = document.createElement("button");
    remove.type = "button";
    remove.className = "plain";
    remove.textContent = "Remove this text";
    remove.addEventListener("click", () => {
      text.remove();
      count();
      side.querySelector("[data-add]").focus();
    });
    text.append(remove);
    texts.append(text);
    area.focus();
  };

  input.addEventListener("change", () => {
    take([...input.files]);
    input.value = ""; // they are in the list now, and can be chosen again
  });
  const folder = side.querySelector("[data-folder]");
  folder?.addEventListener("change", () => {
    const files = readable(folder.files, parentOf);
    folder.value = "";
    if (files.length) take(files);
    else say("There are no texts in this folder.");
  });
  side.querySelector("[data-add]")?.addEventListener("click", addText);
  texts.addEventListener("input", count);
  acceptDrops(side, take);
  count();
  side.addEventListener("adhominem:filled", count);
  side.addEventListener("adhominem:files", (event) => take(event.detail));
}
