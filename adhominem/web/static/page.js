// Without this script the form works, too: it then waits for a whole page. With it there are several texts a side,
// files that are dropped, progress, and an answer that comes in parts. It keeps the token nowhere but in its field.
import { clearAnswer, clearProblem, say, show, showAgain, showProblem } from "./answer.js";
import { problemOfCandidates, setUpCandidates } from "./candidates.js";
import { setUpHistory } from "./history.js";
import { acceptDrops, chosen, find, nameOf, setUp } from "./sides.js";

const form = find("compare");
const reportForm = find("report-form");
let compared = null; // the form that was compared last
let running = null; // to stop it

const allSides = () => [...form.querySelectorAll("fieldset.side")];
allSides().forEach(setUp);
setUpCandidates();
setUpHistory((html) => {
  if (running) return;
  compared = null;
  showAgain(html);
});

// The population: the files that its field holds, which may be dropped there
const population = find("population");
if (population) {
  const picked = () => {
    const names = [...population.files].map((file) => file.name);
    const told = names.length > 2 ? `${names.length.toLocaleString("en")} files` : names.join(", ");
    population.closest(".drop").querySelector(".picked").textContent = told;
  };
  population.addEventListener("change", picked);
  acceptDrops(population.closest(".population"), (files) => {
    const transfer = new DataTransfer();
    for (const file of files) transfer.items.add(file);
    population.files = transfer.files;
    population.closest("details").open = true;
    picked();
  });
}

// A file that misses its mark is not to take the place of the page.
for (const kind of ["dragover", "drop"]) {
  addEventListener(kind, (event) => {
    if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
  });
}

// The prior: a slider beside the number
const slider = find("prior-slider");
const prior = find("prior");
if (slider) {
  slider.addEventListener("input", () => (prior.value = slider.value));
  prior.addEventListener("input", () => (slider.value = prior.value));
}

// Examples, without losing what else is in the form
for (const link of document.querySelectorAll("[data-example]")) {
  link.addEventListener("click", async (event) => {
    event.preventDefault();
    const page = await (await fetch(link.href)).text();
    const example = new DOMParser().parseFromString(page, "text/html");
    for (const name of ["first", "second"]) {
      find(`${name}-text`).value = example.getElementById(`${name}-text`).value;
      const side = find(`${name}-side`);
      chosen.set(side, []);
      side.querySelector(".files").replaceChildren();
      for (const more of [...side.querySelectorAll(".text")].slice(1)) more.remove();
      side.dispatchEvent(new Event("adhominem:filled"));
    }
    say("The example is in the form.");
    find("submit").focus();
  });
}

// What is missing, before anything is sent
function problemOf(data) {
  for (const side of form.querySelectorAll("[data-required]")) {
    const text = side.querySelector("textarea");
    const pasted = data.getAll(text.name).some((value) => value.trim());
    const called = side.dataset.called;
    if (!pasted && !chosen.get(side).length) return [`${called[0].toUpperCase()}${called.slice(1)} has no text`, text];
  }
  const ofCandidates = problemOfCandidates(data);
  if (ofCandidates) return ofCandidates;
  if (prior) {
    const value = prior.value.trim() ? Number(prior.value) : NaN;
    const isHigh = prior.min === "0" ? value >= 0 : value > 0;
    if (!(isHigh && value < 1)) return ["The prior is a probability: a number between 0 and 1", prior];
  }
  const sizes = [...data.values()].map((value) => (typeof value === "string" ? value.length : value.size));
  const most = Number(form.dataset.mostBytes);
  if (sizes.reduce((sum, size) => sum + size, 0) > most) {
    return [`All texts together have more than ${(most / 1e6).toFixed(0)} MB, which is more than the server takes`];
  }
  const token = find("token");
  if (token && !token.value) return ["Enter this server's token", token];
  return null;
}

async function ask(data, signal) {
  const headers = { Accept: "application/x-ndjson" };
  if (find("token")) {
    // A header holds bytes: those of the token in UTF-8, as the server expects them.
    const bytes = new TextEncoder().encode(find("token").value);
    headers.Authorization = `Bearer ${String.fromCharCode(...bytes)}`;
  }
  const response = await fetch(form.getAttribute("action"), { method: "POST", body: data, headers, signal });
  if (!response.ok) throw new Error((await response.json()).error.message);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) show(JSON.parse(line));
  }
}

function work(busy) {
  find("working").classList.toggle("busy", busy);
  find("progress").hidden = !busy;
  find("progress").removeAttribute("value");
  find("cancel").hidden = !busy;
  find("submit").disabled = busy;
  if (reportForm) find("make-report").disabled = busy;
}

// Sends a form, and shows what comes back until it is done, stopped or refused.
async function run(data) {
  clearProblem();
  work(true);
  say("Sending …");
  running = new AbortController();
  try {
    await ask(data, running.signal);
    say("Done.");
  } catch (error) {
    if (error.name === "AbortError") say("Stopped.");
    else {
      say("");
      showProblem(error instanceof TypeError ? "The server cannot be reached; is it still running?" : error.message);
    }
  } finally {
    running = null;
    work(false);
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (running) return;
  clearProblem();
  const data = new FormData(form);
  for (const side of allSides()) {
    const field = `${side.dataset.side}_file`;
    data.delete(field);
    for (const file of chosen.get(side)) data.append(field, file, nameOf(side, file));
  }
  const problem = problemOf(data);
  if (problem) {
    showProblem(...problem);
    return;
  }
  clearAnswer();
  if (reportForm) find("report-part").hidden = true;
  compared = data;
  run(data);
});

// The report is of what was compared, whatever stands in the form by now.
reportForm?.addEventListener("submit", (event) => {
  event.preventDefault();
  if (running || !compared) return;
  const data = new FormData();
  for (const [name, value] of compared) data.append(name, value);
  for (const [name, value] of new FormData(reportForm)) data.append(name, value);
  data.append("report", "yes");
  run(data);
});

find("cancel").addEventListener("click", () => {
  running?.abort();
  find("submit").disabled = false;
  find("submit").focus();
});
