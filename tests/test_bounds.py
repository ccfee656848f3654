"""The times within which a question looks, in thirteen languages: between months, before one, since a season."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from everthread.text.bounds import bounds

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)

ASKED = [
    ("What was broken until the end of September?", "until 2026-09-23"),
    ("Was war zwischen Anfang April und Ende Mai?", "2026-04-01 2026-05-31"),
    ("What did I plant between March and May?", "2026-03-01 2026-05-31"),
    ("What happened before June?", "until 2026-05-31"),
    ("What have I read since last summer?", "2026-06-01 2026-11-30"),
    ("What did we do in the first week of May?", "2026-05-01 2026-05-07"),
    ("Which films did I see in May?", "2026-05-01 2026-05-31"),
    ("May I eat nuts?", None),
    ("Did I march in the parade?", None),
    ("Where was I in December?", "2025-12-01 2025-12-31"),
    ("What did I buy in June 2024?", "2024-06-01 2024-06-30"),
    ("Who came on 5 May?", "2026-05-05 2026-05-05"),
    ("What did I say after August 2025?", "2025-09-01 2026-11-30"),
    ("What did I eat last November?", "2025-11-01 2025-11-30"),
    ("Was habe ich zwischen März und Mai gepflanzt?", "2026-03-01 2026-05-31"),
    ("Was war vor Juni?", "until 2026-05-31"),
    ("Was las ich seit dem letzten Sommer?", "2026-06-01 2026-11-30"),
    ("Was taten wir in der ersten Woche im Mai?", "2026-05-01 2026-05-07"),
    ("Qu'ai-je planté entre mars et mai ?", "2026-03-01 2026-05-31"),
    ("Qu'ai-je lu depuis l'été dernier ?", "2026-06-01 2026-11-30"),
    ("¿Qué planté entre marzo y mayo?", "2026-03-01 2026-05-31"),
    ("¿Qué pasó antes de junio?", "until 2026-05-31"),
    ("O que plantei entre março e maio?", "2026-03-01 2026-05-31"),
    ("O que li desde o verão passado?", "2026-06-01 2026-11-30"),
    ("Cosa ho piantato tra marzo e maggio?", "2026-03-01 2026-05-31"),
    ("Cosa ho fatto nella prima settimana di maggio?", "2026-05-01 2026-05-07"),
    ("Wat plantte ik tussen maart en mei?", "2026-03-01 2026-05-31"),
    ("Wat las ik sinds vorige zomer?", "2026-06-01 2026-11-30"),
    ("Mart ile mayıs arasında ne diktim?", "2026-03-01 2026-05-31"),
    ("Hazirandan önce ne oldu?", "until 2026-05-31"),
    ("Что я сажал между мартом и маем?", "2026-03-01 2026-05-31"),
    ("Что было до июня?", "until 2026-05-31"),
    ("ماذا زرعت بين مارس ومايو؟", "2026-03-01 2026-05-31"),
    ("ماذا حدث قبل يونيو؟", "until 2026-05-31"),
    ("मार्च और मई के बीच मैंने क्या लगाया?", "2026-03-01 2026-05-31"),
    ("जून से पहले क्या हुआ?", "until 2026-05-31"),
    ("三月到五月我种了什么？", "2026-03-01 2026-05-31"),
    ("六月之前发生了什么？", "until 2026-05-31"),
    ("3月から5月まで何を植えた？", "2026-03-01 2026-05-31"),
    ("6月より前に何があった？", "until 2026-05-31"),
    ("Which recipes did we try from April to July?", "2026-04-01 2026-07-31"),
    ("What was broken until September?", "until 2026-08-31"),
    ("What did I learn at the end of October?", "2026-10-25 2026-10-31"),
    ("Who visited us during the winter?", "2025-12-01 2026-02-28"),
    ("What did I cook on March 3rd?", "2026-03-03 2026-03-03"),
    ("Tell me what I did in early July.", "2026-07-01 2026-07-07"),
    ("What may have caused it?", None),
    ("What did I write in 2025?", "2025-01-01 2025-12-31"),
    ("Was habe ich im Februar gekauft?", "2026-02-01 2026-02-28"),
    ("Was war Ende Oktober los?", "2026-10-25 2026-10-31"),
    ("Wen traf ich nach August?", "2026-09-01 2026-11-30"),
    ("Was tat ich am 3. April 2025?", "2025-04-03 2025-04-03"),
    ("Qu'ai-je acheté en février ?", "2026-02-01 2026-02-28"),
    ("Que s'est-il passé avant juillet ?", "until 2026-06-30"),
    ("Qui ai-je vu début avril ?", "2026-04-01 2026-04-07"),
    ("¿Qué compré en febrero?", "2026-02-01 2026-02-28"),
    ("¿Qué hice desde agosto?", "2026-08-01 2026-11-30"),
    ("¿A quién vi el 3 de abril de 2025?", "2025-04-03 2025-04-03"),
    ("O que comprei em fevereiro?", "2026-02-01 2026-02-28"),
    ("O que fiz depois de agosto?", "2026-09-01 2026-11-30"),
    ("Quem vi no fim de outubro?", "2026-10-25 2026-10-31"),
    ("Cosa ho comprato in febbraio?", "2026-02-01 2026-02-28"),
    ("Cosa è successo prima di luglio?", "until 2026-06-30"),
    ("Chi ho visto dopo agosto?", "2026-09-01 2026-11-30"),
    ("Wat kocht ik in februari?", "2026-02-01 2026-02-28"),
    ("Wat gebeurde er voor juli?", "until 2026-06-30"),
    ("Wie zag ik eind oktober?", "2026-10-25 2026-10-31"),
    ("Şubatta ne aldım?", "2026-02-01 2026-02-28"),
    ("Ağustostan beri ne yaptım?", "2026-08-01 2026-11-30"),
    ("Temmuzdan önce ne oldu?", "until 2026-06-30"),
    ("Что я купил в феврале?", "2026-02-01 2026-02-28"),
    ("Что я делал с августа?", "2026-08-01 2026-11-30"),
    ("Кого я видел в начале апреля?", "2026-04-01 2026-04-07"),
    ("ماذا اشتريت في فبراير؟", "2026-02-01 2026-02-28"),
    ("ماذا فعلت منذ أغسطس؟", "2026-08-01 2026-11-30"),
    ("من رأيت بعد أغسطس؟", "2026-09-01 2026-11-30"),
    ("फरवरी में मैंने क्या खरीदा?", "2026-02-01 2026-02-28"),
    ("अगस्त के बाद मैंने क्या किया?", "2026-09-01 2026-11-30"),
    ("अक्टूबर के अंत में कौन आया?", "2026-10-25 2026-10-31"),
    ("我二月买了什么？", "2026-02-01 2026-02-28"),
    ("八月以来我做了什么？", "2026-08-01 2026-11-30"),
    ("去年5月我见了谁？", "2025-05-01 2025-05-31"),
    ("2月に何を買った？", "2026-02-01 2026-02-28"),
    ("8月以降に何をした？", "2026-09-01 2026-11-30"),
    ("去年の5月に誰と会った？", "2025-05-01 2025-05-31"),
    ("What is the capital of France?", None),
    ("Wie geht es dir?", None),
    ("我叫什么名字？", None),
]  # fmt: skip


def test_what_a_question_bounds_is_told_by_its_words() -> None:
    wrong = []
    for question, expected in ASKED:
        told = [f"{period.start:%Y-%m-%d} {period.end:%Y-%m-%d}" for period in bounds(question, NOW)]
        told = [one.replace("1900-01-01", "until") for one in told]
        if told != ([expected] if expected else []):
            wrong.append((question, told))
    assert wrong == []


@pytest.mark.parametrize(
    "question",
    ["How has my estate planning developed?", "Did I fall in the garden?", "那个家乡是吉林长春的人", "a" * 3000,
     "J'ai été malade après avoir mangé ?", "\ue000 and \ue001", "What was on 31 February?", "30 de febrero de 2024"],
)  # fmt: skip
def test_what_only_looks_like_a_month_or_a_season_bounds_nothing(question: str) -> None:
    assert bounds(question, NOW) == []


@pytest.mark.parametrize("now", [datetime.min, datetime.max, datetime(1, 3, 1), datetime(2024, 2, 29)])
def test_at_the_ends_of_the_calendar_nothing_breaks(now: datetime) -> None:
    for question in (
        "in May and before June",
        "between March and May",
        "since last winter",
        "on 29 February",
        "in 2099",
    ):
        assert all(one.start <= one.end <= now.replace(tzinfo=UTC) for one in bounds(question, now.replace(tzinfo=UTC)))
