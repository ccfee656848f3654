"""One detector of language, by a table of short everyday sentences in 30 languages.

Ten a language, as people write in a chat: of 2 to 9 words, with names of people and places. They were written before
any detector was run on them; the detector was chosen by them.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.text.language import LANGUAGES, language_of, likelihoods
from everthread.text.stems import stem
from everthread.text.terms import search_terms
from everthread.text.words import WORD, words

SENTENCES = {
    "en": (
        "My dog is called Rex", "I live in Ghent", "What time is it?", "My sister works in Vienna",
        "I don't like olives", "Can you help me with this?", "We moved to Oslo last year", "Thanks, that was great",
        "Where did I park my car?", "She turns forty tomorrow",
    ),
    "de": (
        "Mein Hund heißt Rex", "Meine Schwester wohnt in Wien", "Ich wohne in Gent", "Wie spät ist es?",
        "Oliven mag ich nicht", "Kannst du mir helfen?", "Wir sind letztes Jahr umgezogen", "Danke, das war super",
        "Wo habe ich mein Auto geparkt?", "Morgen wird sie vierzig",
    ),
    "fr": (
        "Mon chien s'appelle Rex", "Ma sœur habite à Vienne", "J'habite à Gand", "Quelle heure est-il ?",
        "Je n'aime pas les olives", "Tu peux m'aider ?", "On a déménagé l'année dernière", "Merci, c'était super",
        "Où ai-je garé ma voiture ?", "Elle aura quarante ans demain",
    ),
    "es": (
        "Mi perro se llama Rex", "Mi hermana vive en Viena", "Vivo en Gante", "¿Qué hora es?",
        "No me gustan las aceitunas", "¿Me puedes ayudar?", "Nos mudamos el año pasado", "Gracias, estuvo genial",
        "¿Dónde aparqué el coche?", "Mañana cumple cuarenta años",
    ),
    "pt": (
        "Meu cachorro se chama Rex", "Minha irmã mora em Viena", "Eu moro em Gante", "Que horas são?",
        "Não gosto de azeitonas", "Você pode me ajudar?", "Nos mudamos no ano passado", "Obrigado, foi ótimo",
        "Onde estacionei o carro?", "Amanhã ela faz quarenta anos",
    ),
    "it": (
        "Il mio cane si chiama Rex", "Mia sorella vive a Vienna", "Abito a Gand", "Che ore sono?",
        "Non mi piacciono le olive", "Mi puoi aiutare?", "Ci siamo trasferiti l'anno scorso",
        "Grazie, è stato fantastico", "Dove ho parcheggiato la macchina?", "Domani compie quarant'anni",
    ),
    "nl": (
        "Mijn hond heet Rex", "Mijn zus woont in Wenen", "Ik woon in Gent", "Hoe laat is het?",
        "Ik hou niet van olijven", "Kun je me helpen?", "We zijn vorig jaar verhuisd", "Bedankt, dat was geweldig",
        "Waar heb ik mijn auto geparkeerd?", "Morgen wordt ze veertig",
    ),
    "pl": (
        "Mój pies nazywa się Rex", "Moja siostra mieszka w Wiedniu", "Mieszkam w Gandawie", "Która jest godzina?",
        "Nie lubię oliwek", "Możesz mi pomóc?", "Przeprowadziliśmy się w zeszłym roku", "Dzięki, było super",
        "Gdzie zaparkowałem samochód?", "Jutro kończy czterdzieści lat",
    ),
    "sv": (
        "Min hund heter Rex", "Min syster bor i Wien", "Jag bor i Gent", "Vad är klockan?",
        "Jag gillar inte oliver", "Kan du hjälpa mig?", "Vi flyttade förra året", "Tack, det var jättebra",
        "Var parkerade jag bilen?", "Hon fyller fyrtio imorgon",
    ),
    "da": (
        "Min hund hedder Rex", "Min søster bor i Wien", "Jeg bor i Gent", "Hvad er klokken?",
        "Jeg kan ikke lide oliven", "Kan du hjælpe mig?", "Vi flyttede sidste år", "Tak, det var dejligt",
        "Hvor har jeg parkeret bilen?", "Hun fylder fyrre i morgen",
    ),
    "no": (
        "Hunden min heter Rex", "Søsteren min bor i Wien", "Jeg bor i Oslo", "Hva er klokka?",
        "Jeg liker ikke oliven", "Kan du hjelpe meg?", "Vi flyttet i fjor", "Takk, det var kjempebra",
        "Hvor parkerte jeg bilen?", "Hun fyller førti i morgen",
    ),
    "fi": (
        "Koirani nimi on Rex", "Siskoni asuu Wienissä", "Minä asun Gentissä", "Paljonko kello on?",
        "En pidä oliiveista", "Voitko auttaa minua?", "Muutimme viime vuonna", "Kiitos, se oli mahtavaa",
        "Mihin pysäköin autoni?", "Hän täyttää huomenna neljäkymmentä",
    ),
    "hu": (
        "A kutyámat Rexnek hívják", "A nővérem Bécsben lakik", "Gentben lakom", "Hány óra van?",
        "Nem szeretem az olajbogyót", "Tudsz segíteni?", "Tavaly költöztünk el", "Köszi, nagyon jó volt",
        "Hol parkoltam le az autót?", "Holnap lesz negyven éves",
    ),
    "tr": (
        "Köpeğimin adı Rex", "Kız kardeşim Viyana'da oturuyor", "Gent'te yaşıyorum", "Saat kaç?",
        "Zeytin sevmem", "Bana yardım eder misin?", "Geçen yıl taşındık", "Teşekkürler, harikaydı",
        "Arabayı nereye park ettim?", "Yarın kırk yaşına giriyor",
    ),
    "id": (
        "Nama anjing saya Rex", "Kakak saya tinggal di Wina", "Aku tinggal di Jakarta", "Jam berapa sekarang?",
        "Saya tidak suka zaitun", "Bisa bantu aku?", "Kami pindah tahun lalu", "Makasih, itu bagus sekali",
        "Di mana saya parkir mobil?", "Besok dia berumur empat puluh",
    ),
    "vi": (
        "Con chó của tôi tên là Rex", "Chị tôi sống ở Viên", "Tôi sống ở Hà Nội", "Mấy giờ rồi?",
        "Tôi không thích ô liu", "Bạn giúp tôi được không?", "Chúng tôi chuyển nhà năm ngoái", "Cảm ơn, tuyệt lắm",
        "Tôi đỗ xe ở đâu nhỉ?", "Ngày mai cô ấy tròn bốn mươi",
    ),
    "lt": (
        "Mano šuns vardas Reksas", "Mano sesuo gyvena Vienoje", "Aš gyvenu Gente", "Kiek dabar valandų?",
        "Man nepatinka alyvuogės", "Ar gali man padėti?", "Persikraustėme pernai", "Ačiū, buvo puiku",
        "Kur aš pastačiau automobilį?", "Rytoj jai sukanka keturiasdešimt",
    ),
    "ru": (
        "Мою собаку зовут Рекс", "Моя сестра живёт в Вене", "Я живу в Генте", "Который час?",
        "Я не люблю оливки", "Ты можешь мне помочь?", "Мы переехали в прошлом году", "Спасибо, было отлично",
        "Где я припарковал машину?", "Завтра ей исполнится сорок",
    ),
    "uk": (
        "Мого собаку звати Рекс", "Моя сестра живе у Відні", "Я живу в Генті", "Котра година?",
        "Я не люблю оливки, дякую", "Ти можеш мені допомогти?", "Ми переїхали минулого року", "Дякую, було чудово",
        "Де я припаркував машину?", "Завтра їй виповниться сорок",
    ),
    "sr": (
        "Мој пас се зове Рекс", "Моја сестра живи у Бечу", "Живим у Генту", "Колико је сати?",
        "Не волим маслине", "Можеш ли да ми помогнеш?", "Преселили смо се прошле године", "Хвала, било је одлично",
        "Где сам паркирао ауто?", "Сутра пуни четрдесет година",
    ),
    "kk": (
        "Итімнің аты Рекс", "Әпкем Венада тұрады", "Мен Алматыда тұрамын", "Сағат қанша болды?",
        "Мен зәйтүнді ұнатпаймын", "Маған көмектесе аласың ба?", "Біз былтыр көшіп кеттік", "Рахмет, керемет болды",
        "Көлігімді қайда қойдым?", "Ертең ол қырыққа толады",
    ),
    "ar": (
        "كلبي اسمه ريكس", "أختي تسكن في فيينا", "أنا أعيش في القاهرة", "كم الساعة؟",
        "لا أحب الزيتون", "هل يمكنك مساعدتي؟", "انتقلنا في العام الماضي", "شكرا، كان رائعا",
        "أين ركنت سيارتي؟", "غدا تبلغ الأربعين",
    ),
    "fa": (
        "اسم سگ من رکس است", "خواهرم در وین زندگی می‌کند", "من در تهران زندگی می‌کنم", "ساعت چند است؟",
        "من زیتون دوست ندارم", "می‌توانی کمکم کنی؟", "ما پارسال اسباب‌کشی کردیم", "ممنون، خیلی خوب بود",
        "ماشینم را کجا پارک کردم؟", "فردا چهل ساله می‌شود",
    ),
    "he": (
        "לכלב שלי קוראים רקס", "אחותי גרה בווינה", "אני גר בתל אביב", "מה השעה?",
        "אני לא אוהב זיתים", "אתה יכול לעזור לי?", "עברנו דירה בשנה שעברה", "תודה, היה נהדר",
        "איפה חניתי את המכונית?", "מחר היא בת ארבעים",
    ),
    "hi": (
        "मेरे कुत्ते का नाम रेक्स है", "मेरी बहन वियना में रहती है", "मैं दिल्ली में रहता हूँ", "कितने बजे हैं?",
        "मुझे जैतून पसंद नहीं है", "क्या तुम मेरी मदद करोगे?", "हम पिछले साल यहाँ आए", "शुक्रिया, बहुत अच्छा था",
        "मैंने गाड़ी कहाँ खड़ी की?", "कल वह चालीस की हो जाएगी",
    ),
    "el": (
        "Ο σκύλος μου λέγεται Ρεξ", "Η αδερφή μου μένει στη Βιέννη", "Μένω στην Αθήνα", "Τι ώρα είναι;",
        "Δεν μου αρέσουν οι ελιές", "Μπορείς να με βοηθήσεις;", "Μετακομίσαμε πέρσι", "Ευχαριστώ, ήταν τέλεια",
        "Πού πάρκαρα το αυτοκίνητο;", "Αύριο κλείνει τα σαράντα",
    ),
    "th": (
        "หมาของฉันชื่อเร็กซ์", "พี่สาวฉันอยู่ที่เวียนนา", "ผมอยู่กรุงเทพ", "กี่โมงแล้ว",
        "ฉันไม่ชอบมะกอก", "ช่วยฉันหน่อยได้ไหม", "เราย้ายบ้านเมื่อปีที่แล้ว", "ขอบคุณ เยี่ยมมาก",
        "ฉันจอดรถไว้ที่ไหน", "พรุ่งนี้เธออายุสี่สิบ",
    ),
    "zh": (
        "我的狗叫雷克斯", "我姐姐住在维也纳", "我住在上海", "现在几点了？",
        "我不喜欢橄榄", "你能帮我吗？", "我们去年搬家了", "谢谢，太好了",
        "我把車停在哪裡了？", "她明天四十歲",
    ),
    "ja": (
        "犬の名前はレックスです", "姉はウィーンに住んでいます", "東京に住んでいる", "今何時ですか？",
        "オリーブは好きじゃない", "手伝ってくれる？", "去年引っ越しました", "ありがとう、最高だった",
        "車をどこに停めたっけ？", "明日で四十歳になる",
    ),
    "ko": (
        "우리 개 이름은 렉스야", "언니는 빈에 살아요", "저는 서울에 살아요", "지금 몇 시야?",
        "올리브는 안 좋아해", "나 좀 도와줄 수 있어?", "우리는 작년에 이사했어", "고마워, 정말 좋았어",
        "내가 차를 어디에 세웠지?", "내일 마흔 살이 돼요",
    ),
}  # fmt: skip

MIXED = (
    ('Mein Chef sagt immer "good job" zu mir', "de"),
    ("Ich habe das Meeting auf Friday verschoben", "de"),
    ('How do you say "mein Hund" in a letter?', "en"),
    ("My favourite song is La vie en rose", "en"),
    ("J'ai vu The Lord of the Rings hier soir", "fr"),
    ("Me encanta el jazz de Miles Davis", "es"),
    ("Ich arbeite bei Microsoft in Dublin", "de"),
    ("我在 Google 工作", "zh"),
    ("東京のStarbucksで働いています", "ja"),
    ("저는 Samsung에서 일해요", "ko"),
    ("Я работаю в Microsoft", "ru"),
    ("أعمل في شركة Google", "ar"),
)
"""Sentences with words of another language, and the language that they are in."""

NOTHING = (
    "", "   ", "42", "12:30", "3.14159", "+43 1 234567", "?!", "…", "😀👍", "https://example.com/a?b=c",
    "me@example.com",     "x = y + 1", "A4", "---",
)  # fmt: skip
"""Texts in no language."""

CONFUSED = {
    "Min hund heter Rex", "Min syster bor i Wien", "Jeg bor i Gent", "Hunden min heter Rex",
    "Hun fyller førti i morgen",
    "Мою собаку зовут Рекс", "Я не люблю оливки", "Котра година?", "Сутра пуни четрдесет година",
}  # fmt: skip
"""Sentences that are taken for a neighbour: Danish, Norwegian, Swedish; Russian, Ukrainian, Serbian."""

NEIGHBOURS = ({"da", "no", "sv"}, {"ru", "uk", "sr"})


@pytest.mark.parametrize("language", SENTENCES)
def test_short_sentences_are_told(language: str) -> None:
    told = {sentence: language_of(sentence) for sentence in SENTENCES[language]}
    wrong = {sentence: found for sentence, found in told.items() if found != language}
    assert wrong.keys() <= CONFUSED
    assert all(found is None or any({found, language} <= few for few in NEIGHBOURS) for found in wrong.values())


def test_the_table_has_all_languages_and_nearly_all_of_it_is_told() -> None:
    assert set(SENTENCES) == set(LANGUAGES) - {"hy", "ta"}
    assert sum(map(len, SENTENCES.values())) == 300
    assert len(CONFUSED) == 9


@pytest.mark.parametrize(("text", "language"), MIXED)
def test_words_of_another_language_do_not_decide(text: str, language: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize("text", NOTHING)
def test_what_is_in_no_language_has_none(text: str) -> None:
    assert language_of(text) is None


def test_what_is_written_in_capitals_is_told() -> None:
    assert language_of("WHAT IS a quasar") == language_of("WHERE IS MY DOG") == "en"


def test_of_a_choice_the_best_is_told_unless_another_language_is_much_likelier() -> None:
    assert language_of("Я не люблю оливки", {"ru", "en"}) == "ru"
    assert language_of("Meine Schwester wohnt in Wien", {"fr", "en"}) is None
    assert language_of("Meine Schwester wohnt in Wien", {"fr", "de"}) == "de"


def test_a_sentence_is_found_by_a_word_that_does_not_tell_its_language() -> None:
    for question, sentence in (
        ("Oliven?", "Oliven mag ich nicht"), ("aceitunas", "No me gustan las aceitunas"),
        ("Schwester", SENTENCES["de"][1]), ("olives", "Je n'aime pas les olives"),
        ("auto", "Waar heb ik mijn auto geparkeerd?"),
        ("Wien", "Wohnst du in Wien?"),
    ):  # fmt: skip
        assert set(search_terms(question)) & set(search_terms(sentence))


@given(st.text(max_size=80))
def test_anything_has_likelihoods_that_add_up_to_one(text: str) -> None:
    found = likelihoods(text)
    assert not found or sum(found.values()) == pytest.approx(1, abs=1e-3)
    assert language_of(text) in {None, *found}


@given(st.text(max_size=80) | st.text(st.characters(codec="ascii"), max_size=80))
def test_the_words_of_plain_english_letters_are_those_of_any_script(text: str) -> None:
    assert words(text) == [match[0] for match in WORD.finditer(text)]


def test_threads_side_by_side_find_the_stems_that_one_finds() -> None:
    """The stemmers keep the word that they are at."""
    stem.cache_clear()
    endings = ("ations", "ing", "ively", "ational", "fulness", "ization", "ements", "ies")
    asked = [f"{first}{middle}{end}" for first in "abcdefghij" for middle in ("connect", "relat") for end in endings]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda word: stem(word, "en"), asked))
    finally:
        sys.setswitchinterval(interval)
    stem.cache_clear()
    assert found == [stem(word, "en") for word in asked]
