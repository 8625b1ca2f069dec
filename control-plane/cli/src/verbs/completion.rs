//! `guilds completion`: scripts that ask this program what could stand at the cursor.

use clap::{Args, ValueEnum};

use crate::error::{Exit, Failure};
use crate::{Context, output};

/// Whose script.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Shell {
    /// `source <(guilds completion bash)`
    Bash,
    /// `source <(guilds completion zsh)`
    Zsh,
    /// `guilds completion fish | source`
    Fish,
}

// Bash takes `:` and `=` for ends of words; ids have the one and arguments the
// other, so the words are put together again, and what stands before the last
// such mark is taken off each answer.
const BASH: &str = r#"_guilds() {
  local line=${COMP_LINE:0:COMP_POINT} word answer
  local -a words
  read -ra words <<<"$line"
  case $line in *[[:space:]]) words+=("") ;; esac
  word=${words[${#words[@]} - 1]}
  local before=
  case $word in *[:=]*) before=${word%"${word##*[:=]}"} ;; esac
  COMPREPLY=()
  while IFS= read -r answer; do
    if [ "$answer" = :files ]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r answer; do COMPREPLY+=("$answer"); done < <(compgen -f -- "$word")
      break
    fi
    case $answer in
      "$before"*) COMPREPLY+=("${answer#"$before"}") ;;
    esac
  done < <("${words[0]}" __complete -- "${words[@]:1}" 2>/dev/null)
}
complete -F _guilds guilds
"#;

const ZSH: &str = r#"#compdef guilds
_guilds() {
  local -a answers
  answers=("${(@f)$("${words[1]}" __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  answers=("${(@)answers:#}")
  if [[ ${answers[1]:-} = :files ]]; then
    _files
  elif (( ${#answers} )); then
    compadd -Q -- "${(@q)answers}"
  fi
}
if [[ $funcstack[1] = _guilds ]]; then
  _guilds "$@"
else
  compdef _guilds guilds
fi
"#;

const FISH: &str = r#"function __guilds_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l answers ($words[1] __complete -- $words[2..-1] 2>/dev/null)
    if test "$answers[1]" = ":files"
        __fish_complete_path (commandline -ct)
    else
        printf '%s\n' $answers
    end
end
complete -c guilds -f -a '(__guilds_complete)'
"#;

/// Prints the script.
#[expect(clippy::unused_async, reason = "every verb of the list is asked alike")]
pub(super) async fn run(arguments: &Arguments, _: &Context) -> Result<Exit, Failure> {
    output::payload(match arguments.shell {
        Shell::Bash => BASH,
        Shell::Zsh => ZSH,
        Shell::Fish => FISH,
    })?;
    Ok(Exit::Done)
}
