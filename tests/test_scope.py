"""What a question asks for by its words, in thirteen languages: one thing, several, an order of events, or a whole."""

from __future__ import annotations

import pytest

from everthread.text.scope import scope_of

WHOLE = [
    "Summarize what we decided about the kitchen.", "How has my running developed since spring?",
    "Fass bitte zusammen, was wir über den Umzug besprochen haben.", "Wie hat sich mein Spanisch entwickelt?",
    "Résume ce qu'on a dit du mariage.", "Comment mon projet a-t-il évolué ?",
    "Hazme un resumen de mis entrenamientos.", "¿Cómo ha evolucionado mi relación con Ana?",
    "Faz um resumo das nossas conversas sobre a casa.", "Como evoluiu o meu jardim?",
    "Riassumi quello che ci siamo detti sul viaggio.", "Come si è sviluppato il mio progetto?",
    "Kun je samenvatten wat we over de tuin zeiden?", "Hoe heeft mijn boek zich ontwikkeld?",
    "Tezim hakkında konuştuklarımızı özetle.", "İngilizcem son aylarda nasıl ilerledi?",
    "Подведи итог нашим разговорам о ремонте.", "Как менялось моё настроение за последние месяцы?",
    "لخص ما قلناه عن السفر.", "كيف تطورت دراستي خلال الأشهر الماضية؟",
    "हमारी बातचीत का सारांश दो।", "पिछले कुछ महीनों में मेरी सेहत में क्या प्रगति हुई?",
    "总结一下我们关于装修的讨论。", "过去几个月我的工作有什么变化？",
    "引っ越しについて話したことを要約して。", "ここ数か月で私の英語はどう変化した？",
]  # fmt: skip
ORDER = [
    "In what order did I visit the cities?", "In welcher Reihenfolge habe ich die Bücher gelesen?",
    "Dans quel ordre ai-je vu ces films ?", "¿En qué orden visité los museos?", "Em que ordem li os livros?",
    "In che ordine ho visto le città?", "In welke volgorde las ik de boeken?", "Şehirleri hangi sırayla gezdim?",
    "В каком порядке я читал книги?", "بأي ترتيب زرت المدن؟", "मैंने शहर किस क्रम में देखे?", "我按什么顺序去了这些城市？",
    "どの順番で街を訪れた？",
]  # fmt: skip
MANY = [
    "How many dogs do I have?", "Wie viele Hunde habe ich?", "Combien de chiens ai-je ?", "¿Cuántos perros tengo?",
    "Quantos cães tenho?", "Quanti cani ho?", "Hoeveel honden heb ik?", "Kaç köpeğim var?", "Сколько у меня собак?",
    "كم كلبا عندي؟", "मेरे पास कितने कुत्ते हैं?", "我有多少只狗？", "犬を何匹、全部で飼っている？",
]  # fmt: skip
ONE = [
    "What is my sister called?", "Where did I leave the spare key?", "Who fixed the boiler in May?",
    "Wie heißt meine Schwester?", "Wo liegt der Ersatzschlüssel?", "Comment s'appelle ma sœur ?",
    "Où est la clé de secours ?", "¿Cómo se llama mi hermana?", "¿Dónde dejé la llave?", "Como se chama a minha irmã?",
    "Onde deixei a chave?", "Come si chiama mia sorella?", "Dove ho lasciato la chiave?", "Hoe heet mijn zus?",
    "Waar ligt de sleutel?", "Kız kardeşimin adı ne?", "Anahtarı nereye koydum?", "Как зовут мою сестру?",
    "Где лежит ключ?", "ما اسم أختي؟", "أين تركت المفتاح؟", "मेरी बहन का नाम क्या है?", "चाबी कहाँ रखी है?",
    "How many weeks ago did I meet Ana?", "Vor wie vielen Tagen war ich beim Arzt?",
    "Il y a combien de jours ai-je couru ?", "¿Hace cuántos meses vendí el coche?",
    "Há quantas semanas vi a Ana?", "Quanti giorni fa ho corso?",
    "Hoeveel weken geleden zag ik Ana?", "Ana'yı kaç gün önce gördüm?", "Сколько дней назад я был у врача?",
    "قبل كم يوم زرت الطبيب؟", "कितने दिन पहले मैं दौड़ा?", "我多少天前看了医生？", "何日前に走った？",
    "我妹妹叫什么名字？", "钥匙放在哪里？", "妹の名前は何？", "鍵はどこに置いた？",
]  # fmt: skip


@pytest.mark.parametrize(("scope", "questions"), [("whole", WHOLE), ("order", ORDER), ("many", MANY), ("one", ONE)])
def test_what_a_question_asks_for_is_told_by_its_words(scope: str, questions: list[str]) -> None:
    assert [question for question in questions if scope_of(question) != scope] == []
