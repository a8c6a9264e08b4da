"""Print the completion of commands, actions, options and their choices for a shell: bash, zsh or fish.

Bash and zsh: source <(postdate completion bash). Fish: postdate completion fish | source.
"""

import argparse
from collections.abc import Iterator
from typing import Any, Final

PROGRAM: Final = "postdate"
# In bash and zsh the words come from one function, whose argument is what was typed so far without options.
_WORDS: Final = """_postdate_words() {
  case "$1" in
%s
    *) return 1;;
  esac
}
"""
_BASH: Final = """_postdate() {
  local known=postdate each at found
  for ((at = 1; at < COMP_CWORD; at++)); do
    each="${COMP_WORDS[at]}"
    case "$each" in -*) ;; *) _postdate_words "$known $each" >/dev/null && known="$known $each";; esac
  done
  found=$(_postdate_words "$known ${COMP_WORDS[COMP_CWORD - 1]}") || found=$(_postdate_words "$known")
  COMPREPLY=($(compgen -W "$found" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _postdate postdate
"""
_ZSH: Final = """_postdate() {
  local known=postdate each found
  for each in "${(@)words[2,CURRENT-1]}"; do
    case "$each" in -*) ;; *) _postdate_words "$known $each" >/dev/null && known="$known $each";; esac
  done
  found=$(_postdate_words "$known ${words[CURRENT-1]}") || found=$(_postdate_words "$known")
  compadd -- ${=found}
}
compdef _postdate postdate
"""
_FISH: Final = """function __postdate_words
    switch "$argv[1]"
%s
        case '*'
            return 1
    end
end
function __postdate_found
    set -l known postdate
    set -l given (commandline -opc)
    for each in $given[2..-1]
        if not string match -q -- '-*' $each; and __postdate_words "$known $each" >/dev/null
            set known "$known $each"
        end
    end
    __postdate_words "$known $given[-1]"; or __postdate_words "$known"
end
complete -c postdate -f -a '(__postdate_found)'
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "fish", "zsh"))


def run(options: argparse.Namespace) -> dict[str, Any]:
    from cli.main import parser  # the command line imports its commands

    known = dict(words(parser(), PROGRAM))
    if options.shell == "fish":
        cases = (
            f"        case '{at}'\n            string split -- ' ' '{said}'" for at, said in known.items()
        )
        return {"script": _FISH % "\n".join(cases)}
    cases = (f'    "{at}") echo "{said}";;' for at, said in known.items())
    return {"script": _WORDS % "\n".join(cases) + (_BASH if options.shell == "bash" else _ZSH)}


def show(answer: dict[str, Any]) -> str:
    return str(answer["script"])


def words(parser: argparse.ArgumentParser, typed: str) -> Iterator[tuple[str, str]]:
    """Pairs of typed text, which is a command so far or its option, and the words that may follow it."""
    following: list[str] = []
    for action in parser._actions:
        options = [each for each in action.option_strings if each.startswith("--")]
        following += options
        if isinstance(action, argparse._SubParsersAction):
            following += action.choices
            for name, described in action.choices.items():
                yield from words(described, f"{typed} {name}")
        elif action.choices:
            choices = " ".join(map(str, action.choices))
            following += [] if options else map(str, action.choices)
            yield from ((f"{typed} {option}", choices) for option in options)
    yield typed, " ".join(following)
