"""Postal addresses in a text, by the way in which each language writes them: patterns, no gazetteer.

A street needs its number, so that "rue de Rivoli" stays. A postal code alone is taken only where it tells a few
houses (British, Dutch): "10115 Berlin" is as wide as a district, and looks like "10115 Euro".
"""

from __future__ import annotations

from functools import cache
from typing import Final

import regex

_NAME: Final = r"\p{Lu}[\p{L}\p{M}'’.-]*"
_NUMBER: Final = r"\d{1,5}(?:\s?[a-zA-Z]\b)?(?:\s?[-/]\s?\d{1,5}\s?[a-zA-Z]?\b)?"
_AFTER: Final = rf"(?!(?:19|20)\d\d\b){_NUMBER}"
"""A number after a street: no year."""
_SMALL: Final = (
    r"(?:(?:de|del|della|delle|dei|di|du|des|da|das|do|dos|la|le|les|los|las|el|der|den|dem|van|von|of|the)\s+"
    r"|l['’]|d['’])*"
)
_ENGLISH: Final = (
    "[Ss]treet|St|[Aa]venue|Ave|[Rr]oad|Rd|[Ll]ane|Ln|Drive|Dr|[Bb]oulevard|Blvd|Court|Ct|Square|Sq|Place|Pl|Terrace|Way"
    "|Close|Crescent|Parkway|Pkwy|Highway|Hwy|Row|Mews|Gardens"
)
_FLAT: Final = r"(?i:flat|apt\.?|apartment|unit|suite|#)\s*\w{1,5}"
_GERMANIC: Final = (
    r"[Ss]traße|[Ss]trasse|[Ss]tr\.|[Ww]eg|[Pp]latz|[Aa]llee|[Gg]asse|[Dd]amm|[Uu]fer|-[Rr]ing|straat|laan|gracht|plein|gatan"
    "|vägen|gade|vej|veien"
)
_JAPANESE: Final = r"[\p{Han}\p{Katakana}ヶー]"

_STREETS: Final = (
    # 221B Baker Street, Flat 3; what follows "I live at" may be in small letters
    rf"(?:{_FLAT}\b,?\s+)?\b{_NUMBER},?\s+(?:{_NAME}\s+){{1,4}}(?:{_ENGLISH})\b\.?(?:,?\s+{_FLAT}\b)?",
    r"(?i:(?<=\b(?:live|lives|living|reside|address is|deliver|delivered|home)\s(?:(?:at|on|to|is|address)\s)?)"
    r"\d{1,5}[a-z]?\s"
    r"(?:[\w'’.-]+\s){1,3}(?:street|st|avenue|ave|road|rd|lane|drive|boulevard|court|square|place|way)\b)",
    # Lindenstraße 5a, Am Alten Markt 3, Keizersgracht 123
    rf"(?<![\p{{L}}-])(?:\p{{Lu}}[\p{{L}}-]{{0,30}}\s){{0,2}}\p{{L}}[\p{{L}}-]{{0,40}}\s?(?:{_GERMANIC})\s*{_AFTER}",
    rf"\b(?:Am|An der|Im|Zum|Zur|Auf der|Unter den)\s+(?:{_NAME}\s+){{1,2}}{_AFTER}",
    # 12 bis rue de la Paix
    rf"\b{_NUMBER}(?:\s?(?:bis|ter|quater))?,?\s+"
    r"(?i:rue|avenue|av\.|boulevard|bd|place|chemin|impasse|allée|quai|cours|route)\s+"
    rf"{_SMALL}{_NAME}(?:\s+{_SMALL}{_NAME}){{0,3}}",
    # Calle de Alcalá, 45; Rua Augusta 100; Via Roma 12
    rf"\b(?:(?i:calle|c/|avenida|avda\.?|paseo|plaza|rua|travessa|praça|alameda|estrada"
    r"|viale|piazza|corso|vicolo)|Via|in via)\s+"
    rf"{_SMALL}{_NAME}(?:\s+{_SMALL}{_NAME}){{0,3}}(?:,|\s)\s*(?:n[.º°o]*\s*)?{_AFTER}",
    # Atatürk Caddesi No: 12
    rf"(?:{_NAME}\s+){{1,3}}(?i:caddesi|cad\.|cd\.|sokağı|sokak|sok\.|sk\.|bulvarı|mahallesi|mah\.)[\s,]+(?i:no|numara)?\.?:?\s*{_AFTER}",
    # ул. Ленина, д. 5, кв. 12
    r"\b(?i:ул\.|улица|улице|проспект|проспекте|пр\.|пр-т|пер\.|переулок|шоссе|бульвар|вул\.|вулиця)\s*(?:[\p{L}.-]+\s*){1,3}"
    r"[,\s]\s*(?:д\.|дом|буд\.)?\s*\d{1,4}[а-яa-z]?\b(?:\s*[/-]\s*\d+)?(?:,?\s*(?:кв\.|квартира)\s*\d+)?",
    # 北京市海淀区中关村大街27号3单元
    r"(?:\p{Han}{2,8}(?:省|自治区|市|区|县|縣|區)){0,3}\p{Han}{1,10}(?:路|街|道|巷|弄|胡同)\s*\d{1,5}\s*(?:号|號|弄)(?!线|線)"
    r"(?:\s*[\dA-Za-z]+\s*(?:号楼|楼|樓|单元|室|层|栋))*",
    # 東京都千代田区千代田1-1-1
    rf"(?:\p{{Han}}{{2,3}}[都道府県])?{_JAPANESE}{{1,8}}[市区町村]{_JAPANESE}{{0,10}}?\s*\d{{1,4}}(?:丁目|番地?|号|[-−‐]\d{{1,4}})"
    r"(?:\s*\d{1,4}(?:番地?|号)?|[-−‐]\d{1,4})*",
    # 서울특별시 강남구 테헤란로 152
    r"(?:\p{Hangul}+[시도구군]\s+){1,3}\p{Hangul}+[로길]\s*\d{1,4}(?:-\d{1,4})?",
    # شارع الملك فهد 12, मकान नंबर 12, गांधी नगर
    r"(?:شارع|طريق|جادة)\s+(?:\p{Arabic}+\s*){1,4}[،,]?\s*(?:رقم|مبنى)?\s*\d{1,5}",
    r"(?:मकान|घर|फ्लैट|प्लॉट)\s*(?:नंबर|न\.|सं\.|संख्या)\s*\d+(?:,[^,।?]{1,40}){0,3}(?:\s*[-–]?\s*\d{6})?",
    # A box
    r"\b(?i:p\.?\s?o\.?\s?box|postfach|boîte postale|apartado|caixa postal|casella postale|а/я)\s*\d{1,7}",
)
_TOWN: Final = (
    rf"(?:\d{{5}}(?:-\d{{4}})?\s+{_NAME}|\d{{4}}\s?[A-Z]{{2}}\s+{_NAME}|\d{{4}}\s+{_NAME}|(?:{_NAME}\s?){{1,3}},?\s+[A-Z]{{2}}\s+\d{{5}}(?:-\d{{4}})?"
    rf"|(?:{_NAME},?\s+)?(?i:[a-z]{{1,2}}\d[a-z\d]?\s*\d[a-z]{{2}})\b)"
)
_NARROW_CODES: Final = (
    r"\b[A-Z]{1,2}\d[A-Z\d]?\s(?!\d(?:GB|TB|MB|KB|HZ|MP|MM|IN)\b)\d[ABD-HJLNP-UW-Z]{2}\b",  # SW1A 2AA
    rf"\b[1-9]\d{{3}}\s[A-Z]{{2}}\s+{_NAME}",  # 1012 JS Amsterdam
    r"〒\s*\d{3}-?\d{4}",
)


@cache
def postal() -> regex.Pattern[str]:
    """A street with its number, and the code and town after it; or a postal code that tells a few houses."""
    streets = "|".join(f"(?:{street})" for street in _STREETS)
    return regex.compile(rf"(?:{streets})(?:\s*,?\s*{_TOWN})?|{'|'.join(_NARROW_CODES)}")
