"""Corrections in other languages than English: the few words that say "no", "not", "instead" or "wrong", and no more.

Only plain forms are known, of the languages that people write to agents in most. What they miss stays unlearned; the
filters for questions, pastes and repetitions come first, as for English.
"""

from __future__ import annotations

import re
from typing import Final

_LATIN: Final = re.compile(
    # German
    r"^(?:nein|nee|nö|nicht|falsch(?:e[rsnm]?)?|stopp?|halt)\b|\bdas (?:ist|war|stimmt) (?:so )?(?:nicht|falsch)\b|"
    r"\b(?:ist|sind|war|waren) (?:falsch|unnötig|überflüssig|unsinn|zu (?:kompliziert|lang|viel))\b|"
    r"\bstattdessen\b|\banstatt\b|\bstatt (?:des|der|dem|den|einer?|eines|einem)\b|"
    r"\bnicht\b[^.!?\n]{1,80}\bsondern\b|"
    r"\b(?:bitte|du (?:sollst|sollte?st|darfst|musst)|wir) (?:\w+ ){0,2}(?:nicht|keine?n?|nie(?:mals)?)\b|"
    r"\b(?:ich|wir) (?:will|wollte|wollten|möchte|möchten|meinte|brauchen?) (?:\w+ ){0,3}(?:nicht|keine?n?)\b|"
    r"\bdu hast (?:\w+ ){0,4}(?:vergessen|übersehen|gelöscht|überschrieben|missverstanden|falsch)\b|"
    # French
    r"^(?:non|pas (?!de\b|mal\b|encore\b|tout\b|sûr\b)\w|mauvaise?\b|"
    r"arrête|stop)(?:\b|(?<=\w))|"
    r"\bau lieu d[e'’]|\bplutôt\b|\bce n['’]est pas\b|\bc['’]est faux\b|"
    r"(?:^|[,.;:!]\s*|\b(?:surtout|merci de|il ne faut pas) )n(?:e |['’])(?:\w+[\s'’-]+){1,4}(?:pas|plus|jamais)\b|"
    r"\b(?:de )?ne (?:pas|plus|jamais) \w+|\btu (?:as|avais) (?:oublié|supprimé|cassé|ignoré|mal)\b|"
    r"\bje (?:ne veux pas|voulais dire|préfère)\b|"
    # Spanish, Portuguese
    r"\ben (?:vez|lugar) de\b|\bem vez d[eoa]\b|\beso no (?:es|está)\b|\besto no\b|"
    r"\bno es (?:correcto|así|eso|lo que)\b|"
    r"(?:^|[,.;:!]\s*|\bpor favor,? )no (?:lo |la |los |las |me |te )?(?:uses|hagas|toques|cambies|borres|"
    r"modifi(?:ques|cas)|agregues|añadas|pongas|elimines|crees|escribas|quites|muevas|ejecutes|instales|subas|olvides|"
    r"rompas|generes|reescribas|inventes|mezcles|copies|repitas|des|digas|vuelvas)\b|"
    r"\b(?:está|es) (?:mal|incorrecto)\b|\b(?:te )?(?:olvidaste|equivocaste)\b|\bno quiero\b|\bquería decir\b|"
    r"^(?:não|nao)\b|\bisso (?:não|está errado)\b|\bestá errado\b|\bnão (?:é|era|use|faça|mexa|altere|quero)\b|"
    # Italian, Dutch, Polish, Turkish
    r"\binvece di\b|\bnon (?:è (?:corretto|così|quello)|usare|toccare|modificare|voglio)\b|\bè sbagliato\b|"
    r"^(?:nee|niet)\b|\bin plaats van\b|\bdat (?:is|klopt) niet\b|\bis (?:verkeerd|fout)\b|"
    r"^nie\b|\bzamiast\b|\bto (?:jest )?(?:źle|błąd|nie tak)\b|^hayır\b|\byanlış\b|\byerine\b",
    re.I,
)
_CYRILLIC: Final = re.compile(
    r"^(?:нет|не|ні|неправильно|неверно|стоп)(?![а-яё])|\bвместо\b|\bнеправильно\b|\bневерно\b|"
    r"\bне (?:так|тот|та|те|туда|там|то|надо|нужно|трогай|меняй|используй|делай|удаляй|хочу)\b|"
    r"\bты (?:забыл|пропустил|удалил|сломал)\b|\bзамість\b",
    re.I,
)
_EAST_ASIAN: Final = re.compile(
    # Chinese
    r"不对|不對|不是(?!吗|嗎|吧)[^？?\n]{1,40}[，,。]?(?:而)?是|而不是|不要|别(?!的|人|处|處)[^？?\n]|別(?!的|人)[用改動动删刪加做]|"
    r"错了|錯了|又(?:忘|没|沒|把|改|删|漏)|忘了|忘记|漏了|搞错|搞錯|弄错|弄錯|不应该|不應該|不需要|没必要|沒必要|我说的是|我說的是|应该(?:用|是|改|先)|應該(?:用|是|改|先)|"
    # Japanese
    r"違(?:う|い|って)|ではなく|じゃなく|ないで(?:ください|下さい|ね|よ)|しないで|やめて|間違(?:って|い|え)|使わないで|不要です|そうではな|"
    # Korean
    r"^아니(?:요|야|,|\s)|아니라|말고|하지\s?마|틀렸|잘못|대신"
)


_WHY: Final = re.compile(
    r"\b(?:warum|wieso|weshalb) (?:hast|machst|benutzt|nutzt|verwendest|willst|löschst|änderst|bist|nicht)\b|"
    r"\bwarum (?:ist|sind|wird|werden) (?:da|das|hier|jetzt)\b|\bpourquoi (?:tu|est-ce que tu|as-tu|avoir|ne pas|"
    r"pas)\b|"
    r"\bpor ?qu[eé] (?:no |lo |la |has |estás |me )?(?:\w+(?:aste|iste)|has|estás|haces|usas)\b|\bpor ?que (?:você|"
    r"vc)\b|"
    r"\b(?:почему|зачем) ты\b|"
    r"为什么(?:要|你|又|还|不|把|会把)|為什麼(?:要|你|又|還|不|把)|(?:なぜ|なんで|どうして)[^？?]{0,30}(?:した|消した|変えた|変更|削除)",
    re.I,
)


def asks_why(own: str) -> bool:
    """Whether a question, in one of those languages, asks for the reason of something the agent did."""
    return bool(_WHY.search(own))


def says_no(own: str) -> bool:
    """Whether a statement, in one of those languages, objects to something."""
    return bool(_LATIN.search(own) or _CYRILLIC.search(own) or _EAST_ASIAN.search(own))
