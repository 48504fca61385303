"""A config survives JSON, takes single settings by name, and says which one is wrong."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adhominem.errors import OptionError
from adhominem.ngrams.config import NGRAM_PRESETS, NgramConfig
from adhominem.paper.config import (
    PRESETS,
    Config,
    DataOptions,
    EncoderOptions,
    LossOptions,
    TrainingOptions,
    preset,
)
from adhominem.text.normalisation import STEPS, Normaliser
from adhominem.training.train import any_preset

configs = st.builds(
    Config,
    data=st.builds(
        DataOptions,
        normaliser=st.builds(
            Normaliser, steps=st.lists(st.sampled_from(sorted(STEPS)), unique=True).map(tuple)
        ),
        hidden_topics=st.floats(0, 1),
    ),
    encoder=st.builds(
        EncoderOptions,
        lev_size=st.integers(1, 500),
        cnn_dropout=st.floats(0, 1, exclude_max=True),
    ),
    loss=st.builds(
        LossOptions,
        distance=st.sampled_from(["contrastive", ""]),
        stop_gradient_at_lev=st.booleans(),
    ),
    training=st.builds(TrainingOptions, learning_rate=st.floats(1e-300, 1), seed=st.integers(0)),
)


def get(options: Any, path: str) -> Any:
    for name in path.split("."):
        options = getattr(options, name)
    return options


def settings_of(options: Any, before: str = "") -> list[str]:
    """The full names of all single settings."""
    names = []
    for entry in fields(options):
        value, name = getattr(options, entry.name), before + entry.name
        names += settings_of(value, f"{name}.") if is_dataclass(value) else [name]
    return names


ALL = settings_of(Config())


# JSON


@given(configs)
def test_a_config_survives_json(config: Config) -> None:
    assert Config.from_json(json.loads(json.dumps(config.to_json()))) == config
    assert Config.from_json(config.to_json()) == config


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_survives_json(name: str) -> None:
    assert Config.from_json(json.loads(json.dumps(preset(name).to_json()))) == preset(name)


def changed_json(path: str, value: Any) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(json.dumps(Config().to_json()))
    *groups, name = path.split(".")
    part = data
    for group in groups:
        part = part[group]
    part[name] = value
    return data


def test_a_float_may_be_written_as_a_whole_number() -> None:
    config = Config.from_json(changed_json("training.learning_rate", 1))
    assert config == replace(Config(), training=TrainingOptions(learning_rate=1.0))
    assert type(config.training.learning_rate) is float


WRONG_FOR = {
    int: ["60", 60.5, True, None, [60]],
    float: ["0.1", True, None, [0.1]],
    bool: ["yes", 1, 0.0, None],
    str: [1, None, True, ["kernel"]],
    tuple: ["quotes", [1], [["quotes"]], None, {"quotes": 1}],
}


@pytest.mark.parametrize("path", ALL)
def test_json_of_a_wrong_type_is_refused_by_the_settings_name(path: str) -> None:
    for value in WRONG_FOR[type(get(Config(), path))]:
        with pytest.raises(OptionError, match=rf"config\.{path}(\[0\])? is .*; expected"):
            Config.from_json(changed_json(path, value))


@pytest.mark.parametrize("path", ["colour", "encoder.colour", "data.windows.colour"])
def test_json_with_an_unknown_setting_is_refused(path: str) -> None:
    with pytest.raises(OptionError, match="unknown keys: 'colour'"):
        Config.from_json(changed_json(path, 1))


@pytest.mark.parametrize("path", [*ALL, "encoder", "data.windows"])
def test_a_setting_that_an_earlier_version_did_not_have_is_its_default(path: str) -> None:
    data = changed_json(path, None)
    *groups, name = path.split(".")
    part = data
    for group in groups:
        part = part[group]
    del part[name]
    assert Config.from_json(data) == Config()


@pytest.mark.parametrize(
    ("path", "before", "other"),
    [
        ("encoder.train_word_vectors", True, False),
        ("loss.projection_dropout", 0.2, 0.1),
    ],
)
def test_a_setting_that_is_gone_may_say_what_is_done_today_and_nothing_else(
    path: str, before: object, other: object
) -> None:
    assert Config.from_json(changed_json(path, before)) == Config()
    with pytest.raises(OptionError, match="unknown keys"):
        Config.from_json(changed_json(path, other))
    ngrams = NgramConfig().to_json()
    ngrams["training"]["hard_positives"] = 1
    assert NgramConfig.from_json(ngrams) == NgramConfig()
    with pytest.raises(OptionError, match="no setting"):
        Config().with_setting(f"{path}={before}")


@pytest.mark.parametrize("data", [[], "config", None, 3])
def test_json_that_is_no_object_is_refused(data: Any) -> None:
    with pytest.raises(OptionError, match=r"config is .*; expected an object"):
        Config.from_json(data)
    with pytest.raises(OptionError, match=r"config\.encoder is .*; expected an object"):
        Config.from_json(changed_json("encoder", data))


def test_json_with_a_value_that_cannot_work_is_refused() -> None:
    with pytest.raises(OptionError, match="lev_size is 0"):
        Config.from_json(changed_json("encoder.lev_size", 0))


# Single settings


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("encoder.lev_size=80", 80),
        ("data.windows.hop=20", 20),
        ("encoder.cnn_dropout=0.5", 0.5),
        ("encoder.cnn_dropout=0", 0.0),
        ("data.hidden_topics=0.25", 0.25),
        ("training.learning_rate=1e-3", 0.001),
        ("loss.stop_gradient_at_lev=true", True),
        ("loss.stop_gradient_at_lev=True", True),
        ("loss.distance=", ""),
        ("data.pairs.same_author_across=work", "work"),
        ('data.normaliser.steps=["quotes", "dashes"]', ("quotes", "dashes")),
        ("data.normaliser.steps=[]", ()),
    ],
)
def test_one_setting_changes_and_the_others_stay(setting: str, value: object) -> None:
    path = setting.partition("=")[0]
    config = Config().with_setting(setting)
    assert get(config, path) == value
    assert type(get(config, path)) is type(value)
    others = [name for name in ALL if name != path]
    assert [get(config, name) for name in others] == [get(Config(), name) for name in others]


@pytest.mark.parametrize("path", ALL)
def test_every_setting_can_be_set_to_what_it_is(path: str) -> None:
    value = get(Config(), path)
    text = value if isinstance(value, str) else json.dumps(value)
    assert Config().with_setting(f"{path}={text}") == Config()


def test_settings_add_up_and_the_preset_stays_as_it_was() -> None:
    before = preset("tiny").to_json()
    config = preset("tiny").with_setting("encoder.lev_size=7").with_setting("training.seed=3")
    assert (config.encoder.lev_size, config.training.seed) == (7, 3)
    assert preset("tiny").to_json() == before


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("encoder.lev_size=8.5", "encoder.lev_size is 8.5; expected int"),
        ("encoder.lev_size=true", "encoder.lev_size is True; expected int"),
        ("encoder.lev_size=many", "encoder.lev_size is 'many'; expected int"),
        ("encoder.lev_size=", "encoder.lev_size is ''; expected int"),
        ("encoder.cnn_dropout=low", "encoder.cnn_dropout is 'low'; expected float"),
        ("loss.stop_gradient_at_lev=0", "loss.stop_gradient_at_lev is 0; expected bool"),
        ("data.normaliser.steps=quotes", "data.normaliser.steps is 'quotes'; expected a list"),
        ("data.normaliser.steps=[1]", r"data.normaliser.steps\[0\] is 1; expected str"),
        (
            'data.normaliser.steps=["spelling"]',
            r"steps is \('spelling',\); expected some of 'line_ends'",
        ),
        ("encoder.lev_size=0", "config.encoder.lev_size is 0; expected 1 to 16,777,216"),
        ("encoder.cnn_dropout=1", "cnn_dropout is 1.0"),
        ("data.windows.hop=0", "config.data.windows.hop is 0; expected 1 to 1,000"),
        ("data.hidden_topics=2", "hidden_topics is 2.0"),
        ("data.hidden_topics=NaN", "hidden_topics is nan"),
        ("loss.distance=cosine", "distance is 'cosine'"),
        ("loss.in_batch_form=hinge", "in_batch_form is 'hinge'"),
        ("training.masks=word", "masks is 'word'"),
        ("loss.same_threshold=3", "same_threshold < different_threshold"),
        ("loss.in_batch_negatives=-1", "in_batch_negatives is -1.0"),
        ("loss.kernel_same_threshold=0.09", "kernel_different_threshold < kernel_same"),
        ("loss.adaptation_size=4", "with the distance 'contrastive'; expected kernel"),
        ("data.pairs.class_shares=[1]", r"class_shares is \[1\]; expected 4 entries"),
        ("training.epochs=0", "epochs is 0"),
        ("training.learning_rate=NaN", "learning_rate is nan"),
        ("training.clip_norm=0", "clip_norm is 0.0"),
        ("colour=1", "no setting 'colour'; expected one of: data, encoder, loss, training"),
        ("encoder.colour=1", "no setting 'encoder.colour'; expected one of: character_size"),
        ("encoder=1", "'encoder' is a group of settings"),
        ("encoder.lev_size.more=1", "'encoder.lev_size.more' is a part of a setting"),
        ("encoder.lev_size", "'encoder.lev_size' is not a setting; expected one like"),
        ("", "'' is not a setting"),
        ("=1", "no setting ''"),
    ],
)
def test_settings_that_cannot_work_are_refused_by_name(setting: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        Config().with_setting(setting)


# Presets


def test_the_preset_of_the_paper_has_the_published_sizes_and_nothing_beside_the_paper() -> None:
    paper = preset("pan20")
    assert paper.data.hidden_topics == 0
    assert paper.training.patience >= paper.training.epochs
    assert not {"quotes", "dashes", "ellipses", "italics", "line_wraps"} & {*paper.normaliser.steps}
    assert "contractions" in paper.normaliser.steps
    assert not paper.data.windows.spread
    assert not paper.encoder.rescale_word_vectors
    windows = paper.data.windows
    assert (1 + windows.hop + windows.overlap, windows.max_windows) == (30, 210)
    vocabulary = paper.data.vocabulary
    assert (vocabulary.token_types, vocabulary.character_types) == (5_000, 300)
    assert (paper.encoder.word_vector_size, paper.encoder.lev_size) == (300, 60)
    assert (paper.loss.same_threshold, paper.loss.different_threshold) == (1, 3)
    assert (paper.training.epochs, paper.training.batch_pairs) == (35, 40)


def test_a_preset_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(OptionError, match=r"no preset 'pan99'; expected one of: .*pan20.*tiny$"):
        preset("pan99")
    with pytest.raises(OptionError, match=r"no preset 'pan99'; expected one of: .*tiny, .*ngrams"):
        any_preset("pan99")
    with pytest.raises(OptionError, match="no preset 'ngrams'"):  # of a network
        preset("ngrams")
    for name, config in {**PRESETS, **NGRAM_PRESETS}.items():
        assert any_preset(name) is config


@pytest.mark.parametrize(
    ("epoch", "rate"), [(0, 0.0006), (15, 0.0004), (30, 0.0002), (35, 0.0002), (0.3, 0.000596)]
)
def test_the_learning_rate_falls_linearly_and_then_stays(epoch: float, rate: float) -> None:
    assert TrainingOptions().rate(epoch) == pytest.approx(rate)


# Settings that may be anybody's


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("data.vocabulary.characters_per_token", 10**9),
        ("data.windows.hop", 10**6),
        ("data.windows.max_windows", 10**9),
        ("encoder.lev_size", 10**9),
        ("encoder.lev_size", 10**400),
        ("encoder.cnn_dropout", 10**400),
        ("encoder.cnn_dropout", float("nan")),
        ("training.learning_rate", float("inf")),
        ("encoder.word_vectors", "x" * 10**6),
        ("data.normaliser.steps", ["nfc"] * 10**5),
        ("encoder.lev_size", [[0] * 1_000] * 1_000),
    ],
)
def test_json_with_a_value_beyond_all_bounds_is_refused_in_few_words(
    setting: str, value: object
) -> None:
    data = Config().to_json()
    place = data
    *rooms, name = setting.split(".")
    for room in rooms:
        place = place[room]
    place[name] = value
    with pytest.raises(OptionError, match=f"config.{setting}") as error:
        Config.from_json(data)
    assert len(str(error.value)) < 400


def test_a_seed_may_be_as_large_as_one_likes() -> None:
    assert Config().with_setting(f"training.seed={2**64}").training.seed == 2**64
