"""Which of several things came first: each of them is found by itself, in thirteen languages."""

from __future__ import annotations

import pytest

from everthread.text.scope import scope_of
from everthread.text.sides import sides_of

ASKED = [
    "Did I start cello lessons before or after the bicycle was stolen?",
    "Which came first, giving back the company car or forgetting my passport?",
    "What did I do first: break the vase or buy the fridge?",
    "Did I leave the bank before I met the colleague who eats raw vegetables, or after?",
    "Habe ich mit dem Cello vor oder nach dem Diebstahl des Fahrrads angefangen?",
    "Was war zuerst, die Rückgabe des Firmenwagens oder der vergessene Reisepass?",
    "Ai-je commencé le violoncelle avant ou après le vol du vélo ?",
    "Qu'est-ce qui est arrivé en premier, rendre la voiture de fonction ou oublier mon passeport ?",
    "¿Empecé el violonchelo antes o después de que robaran la bicicleta?",
    "¿Qué fue primero, devolver el coche de empresa u olvidar el pasaporte?",
    "Comecei o violoncelo antes ou depois do roubo da bicicleta?",
    "O que aconteceu primeiro, devolver o carro da empresa ou esquecer o passaporte?",
    "Ho iniziato il violoncello prima o dopo il furto della bicicletta?",
    "Cosa è successo prima, restituire l'auto aziendale o dimenticare il passaporto?",
    "Я начал учиться на виолончели до или после кражи велосипеда?",
    "Что было раньше, возврат служебной машины или забытый паспорт?",
    "我学大提琴是在自行车被偷之前还是之后？",
    "哪个先发生，归还公司的车还是忘记护照？",
    "チェロを始めたのは自転車が盗まれる前ですか、後ですか？",
    "会社の車を返したのとパスポートを忘れたのは、どちらが先？",
    "첼로를 시작한 것은 자전거를 도둑맞기 전인가요, 후인가요?",
    "회사 차를 반납한 것과 여권을 잊은 것 중 무엇이 먼저였나요?",
    "هل بدأت تعلم التشيلو قبل أم بعد سرقة الدراجة؟",
    "أيهما حدث أولا، إعادة سيارة الشركة أم نسيان جواز السفر؟",
    "पहले क्या हुआ, कंपनी की कार लौटाना या पासपोर्ट भूलना?",
    "Did I give up coffee before or after I cut my thumb?",
    "What happened earlier, the breakdown in the tunnel or the poker evening?",
    "Was the accordion there first or the cat?",
    "Did my running begin before the wisdom tooth or after it?",
    "Which was first, the telescope or the argument with my brother?",
    "Habe ich erst mit dem Kaffee aufgehört oder mich erst in den Daumen geschnitten?",
    "Was war früher: die Panne im Tunnel oder der Pokerabend?",
    "Ai-je arrêté le café avant ou après m'être coupé le pouce ?",
    "Qu'est-ce qui s'est passé d'abord, la panne dans le tunnel ou la soirée de poker ?",
    "¿Dejé el café antes o después de cortarme el pulgar?",
    "¿Qué pasó antes, la avería en el túnel o la noche de póquer?",
    "Larguei o café antes ou depois de cortar o polegar?",
    "O que veio primeiro: a avaria no túnel ou a noite de póquer?",
    "Ho smesso col caffè prima o dopo essermi tagliato il pollice?",
    "Che cosa è venuto prima, il guasto in galleria o la serata di poker?",
    "Я бросил кофе до или после того, как порезал палец?",
    "Что случилось сначала: поломка в туннеле или проигрыш в покер?",
    "我戒咖啡是在切到拇指之前还是之后？",
    "先发生的是什么，隧道里抛锚还是打扑克输钱？",
    "コーヒーをやめたのは親指を切る前、それとも後？",
    "トンネルでの故障とポーカー、どっちが先だった？",
    "커피를 끊은 것은 엄지를 베기 전인가요 아니면 후인가요?",
    "터널에서의 고장과 포커 중 어느 것이 먼저였나요?",
    "هل توقفت عن القهوة قبل أم بعد أن جرحت إبهامي؟",
    "ما الذي حدث أولا: تعطل السيارة في النفق أم لعبة البوكر؟",
    "पहले क्या हुआ: सुरंग में गाड़ी खराब होना या पोकर?",
    "Begon ik eerst met cello of kocht ik eerst de fiets?",
    "Ging ik naar Rome voor of na de bruiloft?",
    "Was de storing eerder dan de pokeravond?",
    "Wat kwam eerst, de kat of de accordeon?",
    "Çelloya bisiklet çalınmadan önce mi sonra mı başladım?",
    "Hangisi önce oldu, kaza yoksa poker gecesi?",
]  # fmt: skip
NEITHER = [
    "What is the first thing I told you or your colleague about my job?",
    "Which books did I read or buy in May?",
    "Did I buy apples or pears?",
    "What was my first car?",
    "Who did I meet before the wedding?",
    "Should I call mum or dad?",
    "What did I say first about the house?",
    "Tea or coffee first thing in the morning?",
    "Kaufe ich Äpfel oder Birnen?",
    "Was habe ich zuerst gegessen?",
    "¿Compré manzanas o peras?",
    "¿Qué comí primero?",
    "Ai-je acheté des pommes ou des poires ?",
    "Ho comprato mele o pere?",
    "Что я купил первым?",
    "我买了苹果还是梨？",
    "りんごと梨、どちらが好き？",
    "हमने सेब खरीदे या नाशपाती?",
    "هل اشتريت التفاح أم الكمثرى؟",
]  # fmt: skip


def test_what_asks_which_came_first_has_sides_and_asks_for_each() -> None:
    assert [question for question in ASKED if len(sides_of(question)) != 2] == []
    assert [question for question in ASKED if scope_of(question) not in ("many", "order")] == []


def test_what_asks_for_something_else_has_none() -> None:
    assert [question for question in NEITHER if sides_of(question)] == []


@pytest.mark.parametrize(
    ("question", "sides"),
    [
        ("Did I start the cello before or after the move?", ("did i start the cello", "the move")),
        ("I was in Oslo. Which did I see first: the opera, the harbour or the museum?",
         ("the opera", "the harbour", "the museum")),
        ("Did I sell the car before I moved, or after?", ("did i sell the car", "i moved")),
        ("Who did I meet first, Mark and Sarah or Tom?", ("mark and sarah", "tom")),
        ("Habe ich erst gekündigt oder erst die Wohnung gekauft?", ("habe ich gekündigt", "die wohnung gekauft")),
        ("first or", ()),
        ("or " * 300 + "first", ()),
        ("", ()),
    ],
)  # fmt: skip
def test_its_sides_are_what_is_named(question: str, sides: tuple[str, ...]) -> None:
    assert sides_of(question) == sides
