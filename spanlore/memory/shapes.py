"""Shapes of text that a memory must not have: poison, orders hidden in tool output, a model's refusals.

Memory poisoning is assumed (OWASP ASI06): whoever can put text before the agent can try to have it remembered. These
patterns do not prove a text bad, they keep it from being shown until a person has looked. They look at the text with
its Unicode tricks undone, so that full-width letters and zero-width joints don't hide a word.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_INVISIBLE: Final = re.compile("[\u00ad\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\U000e0000-\U000e007f]")
_CONFUSABLES: Final = str.maketrans("аеорсухіѕԁһ", "aeopcyxisdh")

_SHAPES: Final[tuple[tuple[str, re.Pattern[str]], ...]] = tuple(
    (name, re.compile(pattern, re.I))
    for name, pattern in (
        ("runs code from the network",
         r"(?:curl|wget|fetch|iwr|invoke-webrequest|irm|http)\b[^\n]{0,200}?(?:\|\s*(?:sudo\s+)?(?:ba|z|da|"
         r"k)?sh\b|\|\s*(?:sudo\s+)?(?:python[\d.]*|perl|ruby|node|php|iex)\b)|"
         r"(?:ba|z|da)?sh\s+(?:-c\s+)?[\"']?(?:<\(|\$\()\s*(?:curl|wget)|\beval\s+[\"'(]*\$?\(?\s*(?:curl|wget)|"
         r"\biex\b[^\n]{0,80}(?:http|download)|"
         r"source\s+<\(\s*(?:curl|wget)|python\d?\s+-c\s+[\"'].{0,120}(?:urlopen|requests\.get)"),
        ("decodes and runs", r"base64\s+(?:-d|--decode|-D)[^\n]{0,120}\|\s*(?:ba|z)?sh|"
        r"\|\s*xxd\s+-r[^\n]{0,80}\|\s*sh|\b(?:exec|eval)\s*\(\s*(?:base64|atob|bytes\.fromhex|__import__)"),
        ("tells to ignore instructions",
         r"\b(?:ignore|disregard|forget|override|bypass|do not follow)\b.{0,40}\b(?:previous|prior|above|earlier|"
         r"all|any|your|system|safety|the)\b.{0,30}\b(?:instruction|prompt|rule|guideline|direction|message|"
         r"context|polic)|"
         r"\bnew (?:system )?instructions?\s*:|\byou are now\b|\bact as (?:if|an? )\b.{0,40}\b(?:unrestricted|"
         r"admin|root|developer mode)|\bjailbreak|\bdeveloper mode\b|\bDAN mode\b"),
        ("speaks to the model",
         r"<\/?(?:system|assistant|instructions?|system-reminder|important|admin|tool_result|function_calls?|"
         r"antml:[\w-]+)\b[^>]*>|\[(?:/?INST|system|assistant)\]|<\|(?:im_start|im_end|system|user|assistant|"
         r"endoftext)\|>|"
         r"^\s*(?:system|assistant|human|developer)\s*:|\b(?:dear |attention,? |note to (?:the )?)(?:ai|assistant|"
         r"agent|llm|model|claude|codex|copilot)\b|\b(?:as an? |the )(?:ai|llm) (?:agent|assistant|model),? you\b"),
        ("asks for secrecy",
         r"\b(?:do not|don'?t|never|without)\b.{0,20}\b(?:tell|telling|inform|informing|mention|mentioning|reveal|"
         r"show|alert|notify)\w*\b.{0,25}\b(?:user|human|anyone|person|developer|them)\b|\b(?:secretly|silently|"
         r"covertly|quietly)\s+(?:send|run|add|commit|push|upload|install|delete|copy|execute)|\bkeep (?:this|"
         r"it) (?:secret|hidden)"),
        ("sends data away",
         r"\b(?:send|upload|post|exfiltrat\w*|leak|copy|forward|email|transmit)\b.{0,60}\b(?:credential|secret|"
         r"token|password|api[ _-]?key|ssh|private key|\.env|env(?:ironment)? var|cookie|contents?|source code|"
         r"repository)\b|"
         r"(?:cat|base64|tar|env|printenv)\b[^\n]{0,120}\|\s*(?:curl|nc|ncat|netcat|wget)\b|"
         r"curl\b[^\n]{0,200}(?:-d|--data\S*|-F|-T|--upload-file)\s*[\"']?@?\S*(?:\.env|id_rsa|\.ssh|\.aws|"
         r"\.netrc|token|secret)|/dev/tcp/"),
        ("destroys or disarms",
         r"\brm\s+(?:-\w*[rf]\w*\s+)+(?:/|~|\$HOME|\*|/\*)(?:\s|$)|:\(\)\s*\{\s*:\|:|\bmkfs\b|"
         r"\bdd\s+if=.{0,60}of=/dev/|\bchmod\s+(?:-R\s+)?777\s+/|--dangerously-\w+|--no-verify\b|"
         r"\bgit\s+push\s+(?:\S+\s+)*(?:--force\b|-f\b)|"
         r"\b(?:disable|turn off|switch off)\b.{0,30}\b(?:security|sandbox|firewall|antivirus|permission|approval|"
         r"verification|signing|tls|ssl|certificate)|NODE_TLS_REJECT_UNAUTHORIZED=0|\bGIT_SSL_NO_VERIFY|"
         r"(?:--insecure|\bcurl\s+-k)\b|StrictHostKeyChecking[= ]no|"
         r"permissionDecision|bypassPermissions|\bauto-?approve\b"),
        ("changes what is trusted",
         r">>?\s*~?/?\S*(?:\.bashrc|\.zshrc|\.profile|authorized_keys|\.gitconfig|\.npmrc|pip\.conf|crontab|"
         r"sudoers|CLAUDE\.md|AGENTS\.md)|\bcrontab\s+-|(?:--extra)?-index-url\b|--registry[= ]|"
         r"\bgit config --global (?:core\.|url\.|credential)|\bNOPASSWD\b|data:text/html|javascript:"),
    )
)  # fmt: skip
_URL: Final = re.compile(r"\b(?:https?|ftp|ssh|git|wss?)://(?!(?:localhost|127\.0\.0\.1|0\.0\.0\.0|"
r"\[::1\])(?:[:/]|\b))[^\s\"'`)<>\]]+|\bwww\.\w[\w-]*\.\w", re.I)  # fmt: skip
_FETCH: Final = re.compile(
    r"\b(?:fetch|download|visit|open|go to|follow|curl|wget|get|load|install from|clone|read|check)\b", re.I
)
_ADVICE: Final = re.compile(
    r"^\W*(?:please|you (?:must|should|need to|have to|can|may)|must|always|never|do not|don'?t|make sure|ensure|"
    r"remember|important|warning to|"
    r"run|execute|install|use|try|add|set|export|delete|remove|open|visit|download|copy|paste|send|call|invoke|"
    r"write|create|edit|update|change|tell|reply|respond|say|output|print)\b(?!:)"
    r"|^\W*(?:important|note|attention)\s*:|\b(?:you must|you should|you need to|please (?:run|install|use|"
    r"execute|do)|run the following|to fix this|"
    r"instructions?:)\b",
    re.I,
)  # fmt: skip
_SPEAKS: Final = re.compile(
    r"\b(?:always|never|only) (?:run|use|call|say|do|add|install|execute|prefer|trust|follow|commit|push|ask)\b|"
    r"\bremember(?: that| to|\s*:)|\bremember \w+$|\bfrom now on\b|\bthe (?:user|maintainer|owner|developer|human)s? "
    r"(?:said|says|wants?|prefers?|asked|has|have|told|likes?|approved?|confirm\w*)\b|\bas the user\b|"
    r"\buser(?: preference|'s preference| said| wants)\b|\b(?:agents?|assistants?|models?) (?:must|should|have to)\b|"
    r"\bdon'?t do that\b|\buse \S+ instead\b(?!\s*(?:of\b.*)?(?:\(|$))|\bno, use\b|\bship (?:it|\w+)\b|\blgtm\b|"
    r"\b(?:save|store|add|keep|put) (?:\w+ )?(?:to|in|into) (?:\w+ )?memor(?:y|ies)\b|\bto your CLAUDE|"
    r"\b(?:the|our|this) (?:team|company|organi[sz]ation|project|repository) (?:now |always |only |never )?"
    r"(?:uses?|prefers?|wants?|switched|moved)\b|"
    r"\byou should have\b|\brole\W{1,6}user\b|^\s*(?:user|human|agent|memory)\s*:|<(?:user|human|memory)\b",
    re.I,
)
"""Somebody speaks, where only a program or a name should stand."""
_ERROR_WORDS: Final = re.compile(
    r"\b(?:err(?:or)?s?|fail(?:ed|s|ure|ures|ing)?|fatal|panic|exception|traceback|abort(?:ed)?|cannot|can'?t|couldn'?t|"
    r"could not|unable|un(?:known|recogni[sz]ed|expected|supported|defined|resolved|terminated|authorized|bound|"
    r"reachable)|invalid|illegal|missing|(?:not|no|never) (?:found|such|exist\w*|a|an|in|installed|supported|allowed|"
    r"permitted|valid|set|defined|module|version|rule|match\w*|file|tests?)|does ?n[o']t|do not|is not|"
    r"must (?:be|have)|denied|refused|rejected|forbidden|expected|required?s?|conflicts?|already|timed? ?out|timeout|"
    r"exceed(?:ed|s)|too (?:large|long|many|few)|deleted|mismatch|deprecated|exit(?:ed)? (?:code|status)|"
    r"would (?:have|be)|"
    r"needed|usage|warning|ambiguous|broken|corrupt\w*|empty|killed|violat\w+)\b|\b[A-Z]\w*(?:Error|Exception|Warning)\b|"
    r"(?-i:\bE[A-Z]{3,}\b)|^[×✗✖✘]|\bERR[_!]|\bFAIL\b",
    re.I,
)
"""What a program that fails says."""
_REFUSAL: Final = re.compile(
    r"\b(?:as an ai(?: language model)?|i(?:'m| am) (?:sorry|unable|not able)|i (?:cannot|can'?t|won'?t) (?:help|"
    r"assist|comply|provide|do that|continue)|i apologi[sz]e)\b",
    re.I,
)

_NAME: Final = re.compile(r"`([^`\n]+)`|(?<![\w/.])((?:[\w.-]+/)+[\w.-]+|[\w-]{2,}\.[a-z]{1,4}\b|\d{3,}(?:\.\d+)*)")


def plain(text: str) -> str:
    """`text` with compatibility forms folded, look-alike letters made Latin and invisible characters left out."""
    return _INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).translate(_CONFUSABLES)


def suspicious(text: str) -> str:
    """The name of the first suspicious shape in `text`, '' when it has none."""
    if _INVISIBLE.search(text):
        return "hides characters"
    folded = plain(text)
    return next((name for name, pattern in _SHAPES if pattern.search(folded)), "")


def has_remote_url(text: str) -> bool:
    """Whether it names an address outside of this machine."""
    return bool(_URL.search(plain(text)))


def asks_to_fetch(text: str) -> bool:
    """Whether it names a remote address together with a word that asks to go there."""
    folded = plain(text)
    return bool(_URL.search(folded) and _FETCH.search(folded))


def reads_as_instruction(text: str) -> bool:
    """Whether a line of tool output addresses its reader instead of telling what went wrong."""
    return bool(_ADVICE.search(plain(text))) or bool(suspicious(text))


def speaks(text: str) -> bool:
    """Whether somebody speaks in it to the agent or about its user, where a command, a name or a message of a program
    should stand."""
    folded = plain(text).replace("_", " ")  # a name can be made of any words
    return any(_SPEAKS.search(part) for part in (folded, *re.split(r"[:;.!?]\s+|[\"'`]", folded)))


def is_error_line(line: str) -> bool:
    """Whether a line may be told as what a failure said: it has the words of one, and nobody speaks in it."""
    return bool(_ERROR_WORDS.search(plain(line))) and not speaks(line) and not reads_as_instruction(line)


def is_refusal(text: str) -> bool:
    """Whether it is a model's refusal, not a fact."""
    return bool(_REFUSAL.search(text))


def names_in(text: str) -> list[str]:
    """Code, paths, file names and large numbers: what a text may not make up."""
    return [one or other for one, other in _NAME.findall(text)]
