"""The form “How many writers?”: its fields, its page and its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fastapi.responses import HTMLResponse

from adhominem.questions.cluster.files import PRIOR
from adhominem.questions.cluster.page import cluster_fragment, cluster_page, cluster_title
from adhominem.render.templates import markup
from adhominem.web import attribution
from adhominem.web.answering import Answerer, texts_of
from adhominem.web.attribution import ClusterCase
from adhominem.web.form_fields import Part, Sent, prior_in
from adhominem.web.lines import Tell, progress
from adhominem.web.pages import EXAMPLE_TEXTS, EXAMPLES, answer_page, example_text
from adhominem.web.uploads import Upload

CLUSTER = "cluster"


@dataclass(frozen=True, kw_only=True)
class ClusterFields:
    """What the form holds, as it was sent or is to be shown."""

    pasted: Sequence[str] = ()
    files: Sequence[Upload] = ()  # those of a folder bear its name, which is the author's
    population: Sequence[Upload] = ()
    prior: str = f"{PRIOR:g}"

    @classmethod
    def example(cls, name: str) -> ClusterFields:
        """The form with the texts of an example; empty if there is no example of this name."""
        if name not in EXAMPLES:
            return cls()
        return cls(pasted=[example_text(one) for of in EXAMPLE_TEXTS.values() for one in of])

    @property
    def prior_same_author(self) -> float:
        """The prior as a number; an error if it is none."""
        return prior_in(self.prior)


class ClusterAnswerer(Answerer[ClusterFields]):
    """Answers the form with the texts of nobody knows how many people."""

    def show(self, fields: ClusterFields, **more: Any) -> HTMLResponse:
        """The page with the form; `more` is what `answer_page` takes beside it."""
        return answer_page(
            self.service,
            "web_cluster.html",
            f"/{CLUSTER}",
            fields,
            wants_token=bool(self.access.token),
            **more,
        )

    def example(self, name: str) -> ClusterFields:
        """The form with the texts of an example."""
        return ClusterFields.example(name)

    def read(self, parts: Sequence[Part]) -> ClusterFields:
        """What the fields of the form hold."""
        sent = Sent(
            parts, files=("texts_file", "population"), texts=("texts_text",), once=("prior",)
        )
        return ClusterFields(
            pasted=sent.pasted("texts_text"),
            files=sent.uploads("texts_file"),
            population=sent.uploads("population"),
            prior=sent.line("prior") or ClusterFields.prior,
        )

    def check(self, fields: ClusterFields) -> None:
        """Refuse a prior that is none."""
        self.service.check_labels(fields.prior)
        _ = fields.prior_same_author

    async def answer(self, fields: ClusterFields, tell: Tell, *, at_once: bool) -> None:
        """The result as a part of the page, as JSON, and as a page of its own."""
        async with self.service.in_time():
            if fields.files or fields.population:
                progress(tell, "Reading the files")
            texts, notes = await self.reader.read(fields.files, tables=True)
            exhibits = texts_of(fields.pasted, texts, "text")
            authors = _authors([file.name for file in fields.files])
            documents = [
                replace(one.document, author=authors.get(one.document.id, "")) for one in exhibits
            ]
            population, odd = await self.read_population(fields.population, tell)
            case = ClusterCase(
                documents=documents,
                population=population,
                prior_same_author=fields.prior_same_author,
            )
            clustering = await attribution.cluster(
                self.service, case, progress(tell, "Comparing the texts")
            )
        clustering = replace(clustering, corpus="these texts")
        shown = await asyncio.to_thread(
            markup,
            "web_result.html",
            title=cluster_title(clustering),
            notes=[*notes, *odd],
            fragment=cluster_fragment(clustering),
        )
        tell({"verdict": shown, "clustering": await asyncio.to_thread(clustering.to_json)})
        tell({"page": await asyncio.to_thread(cluster_page, clustering)})


def _authors(names: Sequence[str]) -> Mapping[str, str]:
    """By the names of files: the folder that each lies in, if they lie in several."""
    folders = {name: name.replace("\\", "/").rpartition("/")[0] for name in names}
    return folders if len(set(folders.values())) > 1 else {}
