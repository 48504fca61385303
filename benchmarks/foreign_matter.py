"""Texts that are no running English prose: written, made up, or spoilt for `foreign.py`."""

from __future__ import annotations

import json
import random
import re
import sysconfig
from collections.abc import Sequence
from pathlib import Path

# A few sentences of each language; texts are made of them in any order.
LANGUAGES = {
    "German": """Am nächsten Morgen lag dichter Nebel über dem Fluss, und niemand konnte das
        andere Ufer sehen. Der Fährmann saß auf einer umgedrehten Kiste und rauchte, als ginge ihn
        das Wetter nichts an. Wir fragten ihn, wann er wieder fahren würde, aber er zuckte nur mit
        den Schultern. Meine Schwester hatte ihre Handschuhe vergessen und steckte die Hände in die
        Taschen des alten Mantels. Gegen elf Uhr kam endlich die Sonne durch, und mit ihr kamen die
        ersten Marktfrauen mit ihren Körben. Eine von ihnen erkannte mich sofort, obwohl ich seit
        zwölf Jahren nicht mehr im Dorf gewesen war. Sie erzählte, dass die Mühle verkauft worden
        sei und dass der neue Besitzer dort ein Gasthaus einrichten wolle. Ob das klug war, wusste
        sie nicht, denn im Winter verirrte sich kaum ein Fremder in diese Gegend.""",
    "French": """Le train avait déjà plus d'une heure de retard quand on nous annonça qu'il ne
        viendrait pas. Les voyageurs se regardaient sans rien dire, comme s'ils attendaient que
        l'un d'eux se mette en colère. Une vieille dame sortit de son sac un morceau de pain et le
        partagea avec un enfant qu'elle ne connaissait pas. Le chef de gare, lui, avait fermé son
        bureau et l'on ne voyait plus que sa lampe derrière la vitre sale. Nous avons marché
        jusqu'au village, où il n'y avait ni hôtel ni café encore ouvert. Un boulanger qui
        commençait son travail nous a laissés dormir près du four. Je n'ai jamais oublié cette
        odeur, ni la gentillesse de cet homme qui ne nous demandait rien. Au matin il pleuvait, et
        les champs ressemblaient à une mer grise.""",
    "Spanish": """Mi abuelo nunca hablaba de la guerra, pero todos sabíamos que guardaba las cartas
        en un cajón cerrado con llave. Por las tardes se sentaba en el patio y miraba cómo las
        gallinas picoteaban la tierra. Decía que un hombre que no sabe esperar no debería plantar
        árboles. Cuando cumplí quince años me llevó con él a la feria y me dejó elegir un caballo.
        Elegí el más viejo, porque me pareció que tenía los ojos de alguien que lo ha visto todo.
        Los vecinos se rieron, pero él no dijo nada y pagó lo que le pedían. Aquel animal vivió
        todavía ocho años y jamás tiró a nadie al suelo. Ahora que la casa está vacía, a veces me
        parece que lo oigo respirar detrás de la puerta.""",
    "Dutch": """Toen de brug eindelijk weer openging, stonden er wel dertig mensen te wachten aan de
        overkant. De meesten hadden hun fiets bij zich en een paar kinderen zaten op de stoeprand te
        spelen. Mijn buurman vertelde dat hij vroeger elke dag met de boot naar zijn werk ging. Dat
        was in de tijd dat er nog geen tunnel onder het kanaal lag en niemand haast leek te hebben.
        Hij miste vooral de gesprekken met de schipper, die alles wist over het weer en over de
        vogels. Tegenwoordig kijkt iedereen naar zijn telefoon en zegt niemand meer goedemorgen. Ik
        knikte, al wist ik niet zeker of hij gelijk had.""",
    "Russian": """В тот вечер мы долго сидели на веранде и слушали, как дождь стучит по крыше. Отец
        чинил старые часы, которые остановились ещё до моего рождения. Он говорил, что время само
        подскажет, когда им снова пойти. Мать накрывала на стол и улыбалась, потому что слышала эти
        слова уже сотню раз. Потом пришёл сосед и принёс банку мёда, завёрнутую в газету. Газета
        была прошлогодняя, но мы всё равно прочитали её вслух от начала до конца. Я не помню, о чём
        там писали, но помню, как все смеялись. Утром часы пошли, и никто из нас не удивился.""",
    "Chinese": """小时候，我家门前有一条河。 每年夏天，我和弟弟都到河边去捉鱼。
        母亲总是站在门口喊我们回家吃饭，可是我们常常装作没有听见。
        河水很清，能看见水底的石头和小虾。
        后来城里修了水坝，河水一年比一年少。 弟弟去了南方工作，很少回来。
        我有时候一个人走到那里，坐在原来的大树下面。 树还在，只是再也听不见水声了。
        也许等到退休以后，我会回来住在这个安静的地方。""",
}
MISREAD = dict(zip("eclioh.,tsarbgyf", "ce1l0b,.f5niiqvt", strict=True))
MISREAD |= {"n": "ii", "m": "rn", "u": "ii", "d": "cl", "w": "vv"}
SPECKS = "|~^'*.,;:_-»!\\/<}{#"
NAMES = ["Smith", "Jones", "Brown", "Miller", "Davis", "Wilson", "Clark", "Hall", "Young", "King"]
TOWNS = ["London", "Paris", "York", "Leeds", "Boston", "Austin", "Dover", "Lima", "Cairo", "Delhi"]
JOBS = ["clerk", "nurse", "driver", "teacher", "baker", "farmer", "judge", "painter"]


def foreign_matter(
    prose: Sequence[str], verse: Sequence[str], count: int, chance: random.Random
) -> dict[str, list[str]]:
    """Texts of each kind; `prose` is corrupted, `verse` is taken as it is."""
    words = sorted({word for text in prose for word in re.findall(r"[a-z]{4,}", text)})
    matter = {
        name: [_reordered(text, chance) for _ in range(count)] for name, text in LANGUAGES.items()
    }
    library = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
    sources = [path.read_text("utf-8", "replace") for path in library]
    sources = [source for source in sources if len(source) > 20_000]
    matter["Python"] = chance.sample(sources, min(count, len(sources)))
    for kind, make in (("JSON", _json), ("log", _log), ("figures", _figures), ("CSV", _csv)):
        matter[kind] = [make(chance) for _ in range(count)]
    matter["addresses"] = [_addresses(chance) for _ in range(count)]
    matter["list of items"] = [_items(words, chance) for _ in range(count)]
    for kind, between in (("words in lines", "\n"), ("words and commas", ", "), ("words", " ")):
        matter[kind] = [between.join(chance.sample(words, 1_200)) for _ in range(count)]
    matter["verse"] = list(verse[:count])
    matter["verse, line ends lost"] = [" ".join(text.split()) for text in verse[:count]]
    for rate in (0.02, 0.05, 0.1, 0.2):
        matter[f"misread, {rate:.0%} of letters"] = [
            misread(t, rate, chance) for t in prose[:count]
        ]
    return matter


def misread(text: str, rate: float, chance: random.Random) -> str:
    """A text as a poor scan reads it: letters confused, specks as marks, words split."""
    read = []
    for letter in text:
        kind = chance.random() if chance.random() < rate else 1.0
        if kind < 0.6 and letter.lower() in MISREAD:
            letter = MISREAD[letter.lower()]
        elif kind < 0.75:
            letter = chance.choice(SPECKS)
        elif kind < 0.85:
            letter = ""
        elif kind < 1:
            letter += " "
        read.append(letter)
    return "".join(read)


def _reordered(text: str, chance: random.Random) -> str:
    """A long text of these sentences, in paragraphs of four."""
    sentences = re.findall(r"\S.*?[.。](?=\s|$)", " ".join(text.split()))
    drawn = [chance.sample(sentences, 4) for _ in range(60)]
    return "\n\n".join(" ".join(paragraph) for paragraph in drawn)


def _json(chance: random.Random) -> str:
    rows = [
        {
            "id": at,
            "name": chance.choice(NAMES),
            "town": chance.choice(TOWNS),
            "score": chance.random(),
        }
        for at in range(300)
    ]
    return json.dumps(rows, indent=1)


def _log(chance: random.Random) -> str:
    lines = []
    for at in range(300):
        message = chance.choice(
            [
                f"request took {chance.randrange(900)} ms",
                f"connection from 10.0.0.{chance.randrange(255)} was closed",
                f"could not read the file /var/data/{chance.randrange(999)}.bin",
                f"the worker {chance.randrange(16)} has started on job {chance.randrange(9_999)}",
            ]
        )
        level = chance.choice(["INFO", "WARN", "ERROR"])
        lines.append(
            f"2024-03-{1 + at // 12:02} {at % 24:02}:{at % 60:02}:07 {level} server: {message}"
        )
    return "\n".join(lines)


def _figures(chance: random.Random) -> str:
    rows = ["\t".join(f"{chance.uniform(0, 1_000):.2f}" for _ in range(8)) for _ in range(300)]
    return "\n".join(rows)


def _csv(chance: random.Random) -> str:
    rows = ["name,town,job,age,income"]
    for _ in range(1_200):
        who = [chance.choice(NAMES), chance.choice(TOWNS), chance.choice(JOBS)]
        rows.append(
            ",".join([*who, str(chance.randrange(18, 80)), str(chance.randrange(9_000, 90_000))])
        )
    return "\n".join(rows)


def _addresses(chance: random.Random) -> str:
    return "\n".join(
        f"{chance.choice(NAMES)}, {chance.choice('ABCDEFGHJKLM')}. {chance.randrange(1, 300)} "
        f"{chance.choice(TOWNS)} Road, tel. {chance.randrange(10**6, 10**7)}"
        for _ in range(250)
    )


def _items(words: Sequence[str], chance: random.Random) -> str:
    beginnings = ("", "a ", "the ", "two ", "more of the ")
    return "\n".join(
        f"- {chance.choice(beginnings)}{' '.join(chance.sample(words, chance.randrange(1, 5)))}"
        for _ in range(400)
    )
