"""What a terminal adds to the output of a tool: prompts with the command before it, empty prompts behind it, sudo's
question for a password, what ssh and the shell say beside an output, colours and other escape sequences, carriage
returns, NUL bytes, and the dots that people put where they left something out.

Nothing else is taken away. A line that is no prompt stays, also when it is an error message of the tool.
"""

from __future__ import annotations

import quopri
import re
import shlex
from dataclasses import dataclass

from niclab.hosts.errors import ReadError, unreadable
from niclab.hosts.reading import numbered

Line = tuple[int, str]

# "root@host:~ # ", "[root@host ~]$ ", "[root@host]~# ", "(venv) joe@host:~$ ", "host# ", "# ". The kernel's debugger
# has a prompt of its own, which is part of the log.
_HOST = r"(?:\[[^\]]{1,80}\]|[~/][A-Za-z0-9._/-]{0,80}|[A-Za-z0-9(-][A-Za-z0-9@.:~/_()-]{0,80})"
_EMPTY_PROMPT = re.compile(
    rf"(?!db>)(?:\([\w.-]{{1,40}}\) )?(?:{_HOST}(?: ?[~/][A-Za-z0-9~/._-]{{0,80}})?(?<!:))?\s?[#$%>❯»]"
    r"(?:\s*(?:exit|logout))?|➜\s{1,3}\S{1,60}(?: git:\(\S{1,60}\))?(?: ✗)?"
)
# What stands before the sign does not matter where a call of the tool stands behind it. "+ " is the shell's own trace.
_NAMED_PROMPT = re.compile(
    r"(?:>\s?)?(?:[^#$%>❯»|<]{0,100}(?:#{1,4}|[$%>❯»])|\+{1,3} |.{0,100}▶|~\] )\s*(?:\*\*|`)?(?=[A-Za-z/.(])(.+)"
)
_USER_PROMPT = re.compile(
    r"(?:\[[^\s\]]{1,40}@[^\]]{1,80}\](?:[~/][^ ]{0,80})?"
    r"|[A-Za-z0-9_.-]{1,40}@[A-Za-z0-9.-]{1,60}(?::[^ ]{0,80})?) ?[#$%>] \S.*"
)
# The same of a user who shows no name. A sharp may begin a comment.
_NAMELESS_PROMPT = re.compile(r"[$%❯»➜] [a-z./][A-Za-z0-9_./ -]{0,200}")
# "➜ ", "➜  ~ ", "➜  src git:(main) ✗ ": the directory may stand behind the sign.
_ARROW_PROMPT = re.compile(r"[^➜]{0,40}➜\s+((?:\S{1,60}\s+(?:git:\(\S{1,60}\)\s+)?(?:✗\s+)?)?(\S.*))")
_SIGNS = re.compile(r"[#$%>❯»➜▶+]|~\]")
_PASSWORD = re.compile(r"(?:\[sudo\] |doas \()[^:]{1,80}:|Password: ?|Sorry, try again\.")
# sudo -S does not end the line of its question: "[sudo] password for joe: Settings for eth0:".
_ANSWERED = re.compile(r"^\[sudo\] [^:\n]{1,80}: (?=\s*\S)")
# What ssh, sudo, the shell and the start of a session say beside an output; a session that broke off is not among it.
_BESIDE = re.compile(
    r"Warning: Permanently added .{1,200} to the list of known hosts\."
    r"|Warning: (?:the \S{1,20} host key for|Identity file) .{1,200}"
    r"|(?:Offending|Matching host) key (?:for IP )?in .{1,200}"
    r"|(?:load pubkey|Load key|no such identity:?) .{1,200}"
    r"|\(\S{1,100}\) [Pp]assword(?: for \S{1,100})?: ?|Password for \S{1,100}: ?"
    r"|\S{1,80}'s password: ?|Enter passphrase for key .{1,200}: ?|Last login: .{1,200}"
    r"|Pseudo-terminal will not be allocated because stdin is not a terminal\."
    r"|X11 forwarding request failed on channel [0-9]{1,4}|Warning: No xauth data; using fake .{1,100}"
    r"|\*\* (?:WARNING: connection is not using a post-quantum|This session may be vulnerable to"
    r"|The server may need to be upgraded\. See ).{1,100}"
    r"|(?:Shared c|C)onnection to \S{1,100} closed\.|logout|exit|You have (?:new )?mail(?: in \S{1,100})?\.?"
    r"|-?\S{1,40}: (?:line [0-9]{1,6}: )?warning: setlocale: .{1,200}"
    r"|sudo: unable to resolve host .{1,200}"
    r"|stdin: is not a tty|(?:mesg|stty|tput): .{1,100}"
)
# Last words of a session or of a tool that did not come to its end.
_BROKEN_OFF = re.compile(
    r"\^[CZ\\]|(?:Killed|Terminated|Hangup|Aborted|Bus error|Segmentation fault)(?: \(core dumped\))?"
    r"|Connection to \S{1,100} closed by remote host\.|Timeout, server \S{1,100} not responding\."
    r"|(?:(?:client_loop|packet_write_wait|Write failed|Read from remote host|[a-z]{1,20}: write error)\b.{0,120}: )?"
    r"(?:Broken pipe|Connection reset by peer|Connection timed out)"
    r"|cat: \S{1,100}: Input/output error"
)
_LONGEST_PROMPT = 1000
_DEEPEST_QUOTATION = 10
_CONTINUES = "\\"  # at the end of a line of a command
# What a terminal multiplexer writes at the right edge while somebody copies from its history.
_COPY_MODE = re.compile(r"\s{8}\[[0-9]{1,7}/[0-9]{1,7}\]$")
_COPY_MODE_CHARACTERS = 25
# Words that may stand before the tool's name: they run it as somebody else, elsewhere or with a limit.
_RUNNERS = frozenset(
    (
        *("sudo", "doas", "time", "nice", "taskset", "timeout", "ip", "chroot", "numactl", "ssh", "env", "watch"),
        *("nsenter", "jexec", "docker", "podman", "do", "then", "exec"),
    )
)
# They show a file or a part of what a tool said, so that any reader's text may stand behind them.
_VIEWERS = ("cat", "more", "less", "show", "head", "tail", "grep", "egrep", "zgrep", "sed", "awk", "watch")
# Not "omitted" alone: iperf3 says that of an interval, and a mail may break the line before it.
_CUT = r"(?:snip(?:ped)?|cut|output omitted)"
_DOTS = r"(?:\.{3,6}|\u2026)"
_LEFT_OUT = re.compile(
    rf"\.{{3,6}}|\u00b7{{3,6}}|[\u2026\u22ee]|[\[(<]\s?(?:{_DOTS}|(?:{_DOTS}\s?)?{_CUT}(?:\s?{_DOTS})?)\s?[\])>]"
    rf"|([-.])\1+\s?{_CUT}\s?(?:\1\1+)?",
    re.IGNORECASE,
)
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;:?]{0,40}[@-~]|\][^\x07\x1b\n]{0,500}(?:\x07|\x1b\\)|[()][A-Z0-9]|[=>78])|\x0f")
_ARROW_BEFORE = re.compile(r"[-=]{2,20}>(?=\s)")
_ARROWS = ("<--", "<==", "\u2190")
_HARD_BLANK = "\u00a0"  # what pages and mails put in place of an indentation
_REMARKS = ("#", "//")
_RULER = re.compile(r"[-=_*~]{4,200}")
_FENCE = re.compile(r"(?:```|~~~)[a-z]{0,12}")
_RECORDER = re.compile(r"Script (?:started|done)(?: on|,).{0,200}")
_LAST_OF_LEFT_OUT = frozenset(".\u00b7\u2026\u22ee])>-pdtPDT")
_TAG = re.compile(r"</?[a-z][a-z0-9]{0,10}(?: [^<>\n]{0,200})?/?>")
_PRINTABLE = re.compile(r"=3D|=20$", re.MULTILINE)
_NO_PRINTABLE = re.compile(r"=(?![0-9A-F]{2}|\r?\n|$)")
_ENTITIES = {"&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&nbsp;": " ", "&amp;": "&"}
# What the shell's own "time" says below an output.
_TIMES = re.compile(r"(?:real|user|sys)\s+[0-9]{1,6}m[0-9.,]{1,10}s")
# A cell of a table where the next command of a pipeline would stand: a number, a date, "na".
_CELL = re.compile(r"\|\s*(?:[0-9]|na\b)")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w{0,80}=.*")


@dataclass(frozen=True)
class Transcript:
    """``lines``: number and text of each line that is no prompt, blanks at its end removed; blank lines stay.
    ``command``: the command that was echoed before the output, None when there is no such line."""

    lines: tuple[Line, ...]
    command: str | None

    @property
    def filled(self) -> tuple[Line, ...]:
        """The lines that are not blank."""
        return tuple((number, line) for number, line in self.lines if line)


def transcript(text: str, *tools: str, alone: str | None = None, whole: bool = True) -> Transcript:
    """The output of one of ``tools`` without prompts.

    A line with a prompt is taken away when it calls one of the tools or shows a file; empty prompts at both ends and
    lines of nothing but dots are taken away. The first line may be the bare command.

    :param alone: the kind of a reader that wants nothing but the output of these tools: another command after its
        user's prompt is an error.
    :param whole: a text that ends with the words of a session that broke off is an error: nobody knows what is missing.
    :raises ReadError: for the output of another tool behind this one's, when ``alone`` is given.
    """
    text = cleaned(text)
    stripped = ((number, line.rstrip()) for number, line in numbered(text))
    if any(arrow in text for arrow in (*_ARROWS, "->", "=>")):
        stripped = ((number, _without_arrow(line)) for number, line in stripped)
    lines = [(number, _without_position(line) if line[-1:] == "]" else line) for number, line in stripped]
    lines = _without_margins(lines)
    number, last = lines[-1] if whole and lines else (0, "")
    if _BROKEN_OFF.fullmatch(last.strip()[:_LONGEST_PROMPT]):
        raise unreadable(alone or " or ".join(tools), f"line {number}", last, "an output that did not break off")
    lines[:1] = [(number, _ANSWERED.sub("", line)) for number, line in lines[:1]]
    command: str | None = None
    kept: list[Line] = []
    begun, quiet, continued = False, not _SIGNS.search(text), False
    for index, (number, line) in enumerate(lines):
        if continued:
            command, continued = f"{(command or '').removesuffix(_CONTINUES)}{line.strip()}", line[-1:] == _CONTINUES
            continue
        if begun and quiet:
            return Transcript((*kept, *lines[index:]), command)
        if begun and not _SIGNS.search(line):
            kept.append((number, line))
            continue
        echoed = _echoed(line, tools, bare=not begun)
        if echoed is not None:
            if not begun:  # what stands before the command can only be remarks
                kept = []
            continued = command is None and echoed[-1:] == _CONTINUES
            command = command or echoed
        elif not begun and _echoed(line, _VIEWERS, bare=False):
            continue
        elif alone is not None and _USER_PROMPT.fullmatch(line.strip()[:_LONGEST_PROMPT]):
            raise unreadable(alone, f"line {number}", line, f"the output of {' or '.join(tools)} only")
        elif begun or not _is_beside(line):
            kept.append((number, line))
            begun = begun or not (not line or line.lstrip().startswith(_REMARKS))
    return Transcript(tuple(kept), command)


def cleaned(text: str) -> str:
    """The text without byte order mark, NULs, sequences to a terminal, a mail's encoding, entities of a page and signs
    of a quotation."""
    text = _uncoloured(text.removeprefix("\ufeff").replace("\x00", ""))
    return _unquoted(_unescaped(_decoded(text)).replace(_HARD_BLANK, " ").rstrip())


def _without_arrow(line: str) -> str:
    """The line without the arrow that points at it and what somebody says behind it: ``RX: 256   <--- too small``.

    An arrow before the line gives way to blanks.
    """
    arrow = _ARROW_BEFORE.match(line)
    line = f"{' ' * arrow.end()}{line[arrow.end() :]}" if arrow else line
    ends = [at for arrow in _ARROWS if (at := line.find(arrow)) > 0 and line[at - 1].isspace()]
    return line[: min(ends)].rstrip() if ends else line


def _without_position(line: str) -> str:
    """Only the end is searched: blanks without end before it must not cost a search from each of them."""
    match = _COPY_MODE.search(line, max(0, len(line) - _COPY_MODE_CHARACTERS))
    return line[: match.start()].rstrip() if match else line


def _uncoloured(text: str) -> str:
    """The text without colours, titles of windows and other sequences to a terminal, and returns before a line."""
    if "\x1b" not in text:
        return text
    return "\n".join(line.lstrip("\r") for line in _ESCAPES.sub("", text).split("\n"))


def _decoded(text: str) -> str:
    """The text of a mail that was taken as it travels, quoted-printable: each of its signs of equality is a code."""
    if not _PRINTABLE.search(text) or _NO_PRINTABLE.search(text):
        return text
    try:
        return quopri.decodestring(text.encode()).decode()
    except UnicodeDecodeError:
        return text


def _unescaped(text: str) -> str:
    """The text of a page whose source was taken: ``<b>&lt;UP&gt;</b>``. No tool of these prints such a name itself."""
    if not any(name in text for name in ("&lt;", "&gt;", "&quot;")):
        return text
    text = _TAG.sub("", text)
    for name, sign in _ENTITIES.items():
        text = text.replace(name, sign)
    return text


def _unquoted(text: str) -> str:
    """The text without the signs of a quotation in a mail, or of one in another, when each filled line has them."""
    for _ in range(_DEEPEST_QUOTATION):
        lines = text.split("\n")
        if not text.lstrip().startswith(">") or not all(line.startswith(">") for line in lines if line.strip()):
            break
        text = "\n".join(line[1:].removeprefix(" ") for line in lines)
    return text


def _without_margins(lines: list[Line]) -> list[Line]:
    """The lines without blank ones, empty prompts, fences of a page, the words of script(1), the shell's times and
    what a session says at both ends, and without those that say something is left out."""
    begin, end = 0, len(lines)
    while end and (_says_nothing(lines[end - 1][1]) or _asks_on(lines[end - 1][1])):
        end -= 1
    while begin < end and _says_nothing(lines[begin][1]):
        begin += 1
    return [
        (number, line)
        for number, line in lines[begin:end]
        if not (line[-1:] in _LAST_OF_LEFT_OUT and _LEFT_OUT.fullmatch(line.strip()[:_LONGEST_PROMPT]))
    ]


def _asks_on(line: str) -> bool:
    """A user's prompt with a command: at the end of a text nothing of what it printed was taken along."""
    begin = line.strip()[:_LONGEST_PROMPT]
    return any(pattern.fullmatch(begin) for pattern in (_USER_PROMPT, _NAMELESS_PROMPT))


def _says_nothing(line: str) -> bool:
    begin = line.strip()[:_LONGEST_PROMPT]
    patterns = (_EMPTY_PROMPT, _FENCE, _RECORDER, _TIMES, _RULER, _BESIDE)
    return not begin or any(pattern.fullmatch(begin) for pattern in patterns)


def _is_beside(line: str) -> bool:
    """A question for a password, or what a session says before the first line of an output."""
    begin = line.strip()[:_LONGEST_PROMPT]
    return any(pattern.fullmatch(begin) for pattern in (_PASSWORD, _BESIDE))


def command_words(command: str | None) -> list[str]:
    """The words of the first command of a line, without what it is piped into; none when it cannot be split."""
    lexer = shlex.shlex(command or "", posix=True, punctuation_chars="|;&")
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:
        return []
    ends = [at for at, word in enumerate(words) if not word.strip("|;&")]
    return words[: ends[0]] if ends else words


def refuse_error(kind: str, lines: tuple[Line, ...], tools: tuple[str, ...], expected: str) -> ReadError:
    """The error for a text that holds nothing but complaints (or nothing): it names the first complaint."""
    for number, line in lines:
        if line.strip().startswith(tuple(f"{tool}: " for tool in tools)):
            return unreadable(kind, f"line {number}", line, expected)
    return unreadable(kind, "text", "\n".join(line for _, line in lines), expected)


def _echoed(line: str, tools: tuple[str, ...], *, bare: bool) -> str | None:
    """The command on this line, when it calls one of the tools."""
    line = line.strip()
    if not line or len(line) > _LONGEST_PROMPT:
        return None
    arrow, match = _ARROW_PROMPT.fullmatch(line), _NAMED_PROMPT.fullmatch(line)
    commands = arrow.groups() if arrow else (match[1].rstrip("*`"),) if match else ()
    # A line without a prompt is a command only if it cannot be a row: "1 | 06/03/2014 | 17:38:05 | ipmitool".
    for command in (*commands, line.strip("*`")) if bare and not _CELL.search(line) else commands:
        if any(_calls(part.split(), tools) for part in re.split(r"[;|&]+", command)):
            return command
    return None


def _calls(words: list[str], tools: tuple[str, ...]) -> bool:
    names = [word.rpartition("/")[2] for word in words]
    if not names:
        return False
    runs_another = names[0] in _RUNNERS or _ASSIGNMENT.fullmatch(words[0]) is not None
    return names[0] in tools or (runs_another and any(name in tools for name in names[1:]))
