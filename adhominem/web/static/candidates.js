// Candidates: more of them, fewer, or all in a folder with one folder for each.
import { acceptDrops, chosen, find, folderOf, parentOf, readable, setUp } from "./sides.js";
import { say } from "./answer.js";

const candidates = find("candidates");
let numbered = candidates ? candidates.children.length : 0;

export const isEmpty = (side) =>
  !chosen.get(side).length && ![...side.querySelectorAll("textarea, [name$=_name]")].some((field) => field.value.trim());

function addCandidate() {
  numbered += 1;
  const made = document.createElement("div");
  made.innerHTML = find("new-candidate").innerHTML.replaceAll("andidate0", `andidate${numbered}`).replaceAll("andidate 0", `andidate ${numbered}`);
  const side = made.firstElementChild;
  candidates.append(side);
  setUpCandidate(side);
  return side;
}

function setUpCandidate(side) {
  if (!chosen.has(side)) setUp(side);
  side.querySelector("[data-remove-candidate]").addEventListener("click", () => {
    chosen.delete(side);
    side.remove();
    find("add-candidate").focus();
    say(`${side.querySelector("legend").textContent} is removed.`);
  });
}

// The files of each folder are those of one candidate.
function addFolders(files) {
  const byName = new Map();
  for (const file of files) {
    const name = folderOf(file);
    if (name) byName.set(name, [...(byName.get(name) ?? []), file]);
  }
  for (const [name, texts] of byName) {
    const side = [...candidates.children].find(isEmpty) ?? addCandidate();
    side.querySelector("[name$=_name]").value = name;
    side.dispatchEvent(new CustomEvent("adhominem:files", { detail: texts }));
  }
  say(byName.size ? `${byName.size} candidates added.` : "There is no folder with texts in this folder.");
}

export function setUpCandidates() {
  if (!candidates) return;
  [...candidates.children].forEach(setUpCandidate);
  find("add-candidate").addEventListener("click", () => addCandidate().querySelector("[name$=_name]").focus());
  const folder = find("candidate-folder");
  folder.addEventListener("change", () => {
    const inFolders = [...folder.files].filter((file) => file.webkitRelativePath.split("/").length > 2);
    const files = readable(inFolders, parentOf);
    folder.value = "";
    addFolders(files);
  });
  acceptDrops(find("more-candidates"), addFolders);
}

// What is missing: the message and the field, or null.
export function problemOfCandidates(data) {
  if (!candidates) return null;
  const filled = [...candidates.children].filter((side) => !isEmpty(side));
  for (const side of filled) {
    const text = side.querySelector("textarea");
    if (!data.getAll(text.name).some((value) => value.trim()) && !chosen.get(side).length) {
      return [`${side.querySelector("legend").textContent} has no text`, text];
    }
  }
  if (filled.length < Number(candidates.dataset.fewest)) {
    return ["There are fewer than two candidates; give texts of two or more", candidates.querySelector("textarea")];
  }
  return null;
}
