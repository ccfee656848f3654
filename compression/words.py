"""Word lists by language, as data: how errors, refusals and inventions begin; what marks questions, code and trouble.

Sources: seed `002` (the English ones of `invalidPatterns` and `scoreMessageImportance`), translated. All casefolded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

Words = Mapping[str, tuple[str, ...]]

ERROR_STARTS: Final[Words] = {
    "en": ("error", "an error", "exception", "traceback", "internal server error", "failed to", "request failed",
           "rate limit", "too many requests", "service unavailable", "bad gateway", "timeout", "timed out",
           "invalid api key", "unauthorized", "no messages to summarize", "[object object]"),
    "de": ("fehler", "ein fehler", "ausnahme", "zeitüberschreitung", "interner serverfehler"),
    "fr": ("erreur", "une erreur", "délai dépassé"),
    "es": ("error", "ha ocurrido un error", "se ha producido un error", "tiempo de espera"),
    "pt": ("erro", "ocorreu um erro", "tempo esgotado"),
    "it": ("errore", "si è verificato un errore"),
    "tr": ("hata", "bir hata oluştu", "zaman aşımı"),
    "ru": ("ошибка", "произошла ошибка", "внутренняя ошибка"),
    "ar": ("خطأ", "حدث خطأ"),
    "hi": ("त्रुटि", "एक त्रुटि"),
    "zh": ("错误", "发生错误", "出错", "請求失敗", "请求失败", "超时"),
    "ja": ("エラー", "エラーが発生"),
    "ko": ("오류", "에러"),
}  # fmt: skip
"""How an error text begins that stands where a summary should."""

REFUSAL_STARTS: Final[Words] = {
    "en": ("i'm sorry", "i am sorry", "sorry,", "i apologize", "i cannot", "i can't", "i can not", "i'm unable",
           "i am unable", "i'm not able", "i am not able", "as an ai", "as a language model", "as an assistant",
           "unfortunately, i", "i won't", "i do not have", "i don't have", "there is no conversation",
           "please provide", "could you please", "i need more", "i'm just an ai"),
    "de": ("es tut mir leid", "tut mir leid", "entschuldigung", "ich kann nicht", "ich kann das nicht",
           "ich kann leider", "leider kann ich", "als ki", "als sprachmodell", "bitte gib", "bitte geben sie"),
    "fr": ("je suis désolé", "désolé", "je ne peux pas", "je ne suis pas en mesure", "en tant qu'ia",
           "en tant que modèle", "malheureusement, je", "veuillez fournir"),
    "es": ("lo siento", "perdón", "no puedo", "como ia", "como modelo de lenguaje", "lamentablemente, no",
           "por favor, proporcion"),
    "pt": ("desculpe", "lamento", "sinto muito", "não posso", "não consigo", "como uma ia", "como modelo de linguagem",
           "infelizmente, não", "por favor, forneça"),
    "it": ("mi dispiace", "scusa", "non posso", "non sono in grado", "come ia", "in quanto modello",
           "purtroppo non", "si prega di fornire"),
    "tr": ("üzgünüm", "maalesef", "özür dilerim", "bir yapay zeka", "bir dil modeli", "yapamam", "lütfen sağla"),
    "ru": ("извините", "простите", "к сожалению, я", "я не могу", "мне жаль", "как искусственный интеллект",
           "как языковая модель", "пожалуйста, предоставьте"),
    "ar": ("آسف", "عذرا", "عذرًا", "أعتذر", "لا أستطيع", "لا يمكنني", "بصفتي نموذج"),
    "hi": ("क्षमा करें", "मुझे खेद है", "माफ़ कीजिए", "मैं नहीं कर सकता", "एक एआई के रूप में"),
    "zh": ("抱歉", "很抱歉", "对不起", "對不起", "我不能", "我无法", "我無法", "作为一个", "作為一個",
           "作为人工智能", "请提供"),
    "ja": ("申し訳", "すみません", "ごめんなさい", "aiとして", "言語モデルとして", "できません"),
    "ko": ("죄송", "미안", "저는 할 수", "인공지능으로서"),
}  # fmt: skip
"""How a refusal begins, or a request for what was given already."""

REPLY_STARTS: Final[Words] = {
    "en": ("here's", "here is a poem", "here is a story", "certainly", "let me", "i'll create", "i can ", "sure,",
           "sure!", "of course", "absolutely"),
    "de": ("hier ist ein gedicht", "gerne", "natürlich", "selbstverständlich", "klar,", "lass mich"),
    "fr": ("bien sûr", "certainement", "voici un poème", "voici une histoire", "laissez-moi"),
    "es": ("por supuesto", "claro", "aquí tienes un poema", "aquí tienes una historia", "déjame"),
    "pt": ("claro", "com certeza", "aqui está um poema", "deixe-me"),
    "it": ("certo", "certamente", "ecco una poesia", "ecco una storia", "lascia che"),
    "tr": ("elbette", "tabii", "işte bir şiir", "işte bir hikaye"),
    "ru": ("конечно", "разумеется", "вот стихотворение", "вот рассказ", "давайте я"),
    "ar": ("بالطبع", "بالتأكيد", "إليك قصيدة"),
    "hi": ("ज़रूर", "बिल्कुल", "यहाँ एक कविता"),
    "zh": ("当然", "當然", "好的，", "以下是一首"),
    "ja": ("もちろん", "承知しました", "かしこまりました"),
    "ko": ("물론", "알겠습니다"),
}  # fmt: skip
"""How an assistant begins that answers instead of summarizing."""

TALE_STARTS: Final[Words] = {
    "en": ("title:", "once upon", "in fields where", "there was", "there once", "chapter", "scene ", "act i", "act v",
           "act x", "in a land", "long ago"),
    "de": ("titel:", "es war einmal", "kapitel", "vor langer zeit", "in einem fernen land"),
    "fr": ("titre", "il était une fois", "chapitre", "scène "),
    "es": ("título:", "érase una vez", "había una vez", "capítulo", "escena "),
    "pt": ("título:", "era uma vez", "capítulo", "cena "),
    "it": ("titolo:", "c'era una volta", "capitolo", "scena "),
    "tr": ("başlık:", "bir varmış", "bir zamanlar", "bölüm "),
    "ru": ("название:", "жил-был", "жили-были", "однажды", "давным-давно", "глава"),
    "ar": ("العنوان", "كان يا ما كان", "في قديم الزمان", "الفصل"),
    "hi": ("शीर्षक", "एक बार की बात", "अध्याय"),
    "zh": ("标题", "標題", "从前", "從前", "很久以前", "第一章"),
    "ja": ("タイトル", "昔々", "むかしむかし", "第一章"),
    "ko": ("제목", "옛날"),
}  # fmt: skip
"""How a story, a poem or a play begins."""

SUMMARY_LABELS: Final[tuple[str, ...]] = (
    "summary", "zusammenfassung", "résumé", "resume", "resumen", "resumo", "riassunto", "sommario", "özet", "резюме",
    "краткое содержание", "сводка", "ملخص", "सारांश", "总结", "總結", "摘要", "概要", "要約", "まとめ", "요약",
)  # fmt: skip
"""The word for a summary, in a label before it."""

QUESTION_STARTS: Final[Words] = {
    "en": ("what", "how", "why"),
    "de": ("was", "wie", "warum", "wieso", "weshalb"),
    "fr": ("que", "quoi", "qu'est-ce", "comment", "pourquoi"),
    "es": ("qué", "cómo", "por qué"),
    "pt": ("o que", "como", "por que"),
    "it": ("che", "cosa", "come", "perché"),
    "tr": ("ne", "nasıl", "neden", "niçin"),
    "ru": ("что", "как", "почему", "зачем"),
    "ar": ("ما", "ماذا", "كيف", "لماذا"),
    "hi": ("क्या", "कैसे", "क्यों"),
    "zh": ("什么", "什麼", "怎么", "怎麼", "如何", "为什么", "為什麼"),
    "ja": ("何", "なに", "どう", "なぜ"),
    "ko": ("무엇", "어떻게", "왜"),
}  # fmt: skip
"""How a question begins: what, how, why."""

TECHNICAL: Final[Words] = {
    "en": ("function", "class"),
    "de": ("funktion", "klasse"),
    "fr": ("fonction", "classe"),
    "es": ("función", "clase"),
    "pt": ("função", "classe"),
    "it": ("funzione", "classe"),
    "tr": ("fonksiyon", "sınıf"),
    "ru": ("функция", "класс"),
    "ar": ("دالة", "صنف"),
    "hi": ("फ़ंक्शन", "क्लास"),
    "zh": ("函数", "函數", "类别"),
    "ja": ("関数", "クラス"),
    "ko": ("함수", "클래스"),
}  # fmt: skip
"""Words of technical talk: function, class."""

TROUBLE: Final[Words] = {
    "en": ("error", "problem", "issue"),
    "de": ("fehler", "problem"),
    "fr": ("erreur", "problème"),
    "es": ("error", "problema"),
    "pt": ("erro", "problema"),
    "it": ("errore", "problema"),
    "tr": ("hata", "sorun"),
    "ru": ("ошибк", "проблем"),
    "ar": ("خطأ", "مشكلة"),
    "hi": ("त्रुटि", "समस्या"),
    "zh": ("错误", "錯誤", "问题", "問題"),
    "ja": ("エラー", "問題"),
    "ko": ("오류", "문제"),
}  # fmt: skip
"""Words of trouble: error, problem, issue."""


def flat(words: Words) -> tuple[str, ...]:
    """The words of all languages, the longest first."""
    return tuple(sorted({word for listed in words.values() for word in listed}, key=lambda word: (-len(word), word)))
