// Results of this sitting, if the user wants them kept: in this tab's own storage, which ends with it. Nothing is sent.
const find = (id) => document.getElementById(id);
const WANTED = "adhominem-history-wanted";
const KEY = `adhominem-history-${location.pathname}`;
const MOST = 20;
const LARGEST = 200_000; // characters of a result that is kept
let onShow = () => {};

function read() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY)) ?? [];
  } catch {
    return [];
  }
}

function write(entries) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(entries));
  } catch {
    if (entries.length > 1) write(entries.slice(0, -1)); // full: the oldest go
  }
}

const isWanted = () => find("keep-history").checked;

function list() {
  const entries = read();
  find("erase-history").hidden = !entries.length;
  find("history-list").replaceChildren(
    ...entries.map((entry) => {
      const row = document.createElement("li");
      const open = document.createElement("button");
      open.type = "button";
      open.textContent = `${entry.time}: ${entry.label}`;
      open.addEventListener("click", () => onShow(entry.html));
      row.append(open);
      return row;
    }),
  );
}

// Parts of a result that show the user's text are marked as such; what is parsed here runs and loads nothing.
function withoutTexts(html) {
  const result = new DOMParser().parseFromString(html, "text/html");
  for (const part of result.querySelectorAll("[data-text]")) part.replaceChildren("The history does not keep texts.");
  return result.body.innerHTML;
}

// Keeps a result, if that is wanted.
export function remember(shown, label) {
  if (!isWanted()) return;
  const html = withoutTexts(shown);
  if (html.length > LARGEST) return;
  const time = new Date().toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  write([{ time, label, html }, ...read()].slice(0, MOST));
  list();
}

export function setUpHistory(show) {
  onShow = show;
  const box = find("keep-history");
  try {
    box.checked = sessionStorage.getItem(WANTED) === "yes";
  } catch {
    find("history").hidden = true; // a browser that keeps nothing
    return;
  }
  list();
  box.addEventListener("change", () => {
    if (box.checked) sessionStorage.setItem(WANTED, "yes");
    else erase();
  });
  find("erase-history").addEventListener("click", () => {
    sessionStorage.removeItem(KEY);
    list();
    box.focus();
  });
}

// Whoever no longer wants a history has none, of any page.
function erase() {
  for (const key of Object.keys(sessionStorage)) {
    if (key.startsWith("adhominem-history")) sessionStorage.removeItem(key);
  }
  list();
}
