package client

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
)

// completionFlag is the last argument of calls by which shells ask what may come next.
const completionFlag = "--generate-bash-completion"

// scripts let a shell ask the program itself.
var scripts = map[string]string{
	"bash": `_godwit() {
  local cur=${COMP_WORDS[COMP_CWORD]} words=("${COMP_WORDS[@]:0:COMP_CWORD}")
  [[ $cur == -* ]] && words+=("$cur")
  COMPREPLY=($(compgen -W "$("${words[@]}" ` + completionFlag + ` 2>/dev/null)" -- "$cur"))
}
complete -o bashdefault -o default -F _godwit godwit
`,
	"zsh": `#compdef godwit
_godwit() {
  local -a found asked
  asked=("${words[@]:0:CURRENT-1}")
  [[ ${words[CURRENT]} == -* ]] && asked+=("${words[CURRENT]}")
  found=("${(@f)$("${asked[@]}" ` + completionFlag + ` 2>/dev/null)}")
  (( ${#found} )) && [[ -n ${found[1]} ]] && compadd -- "${found[@]}" || _files
}
compdef _godwit godwit
`,
	"fish": `function __godwit
  set -l words (commandline -opc)
  set -l cur (commandline -ct)
  string match -q -- '-*' $cur; and set words $words $cur
  $words ` + completionFlag + ` 2>/dev/null
end
complete -c godwit -a '(__godwit)'
`,
}

func (t *Tool) completion() *cli.Command {
	return t.local(&cli.Command{Name: "completion", Usage: "print a script that lets a shell complete commands and flags", ArgsUsage: "SHELL",
		Description: "SHELL is bash, zsh or fish. For bash: source <(godwit completion bash)"}, func(c *call) error {
		script, ok := scripts[c.Args().First()]
		if !ok {
			return usage("%q: want bash, zsh or fish", c.Args().First())
		}
		c.t.printf("%s", script)
		return nil
	})
}

// complete prints what may follow words: commands, or flags after a dash. It reports false if args do not ask for that.
func (t *Tool) complete(app *cli.App, args []string) bool {
	if len(args) < 2 || args[len(args)-1] != completionFlag {
		return false
	}
	args = args[:len(args)-1]
	list := app.Commands
	var leaf *cli.Command
	for _, a := range args[1:] {
		for _, c := range list {
			if c.HasName(a) {
				leaf, list = c, c.Subcommands
				break
			}
		}
	}
	if strings.HasPrefix(args[len(args)-1], "-") && leaf != nil {
		for _, f := range leaf.Flags {
			if n := f.Names()[0]; len(n) > 1 {
				fmt.Fprintln(t.Out, "--"+n)
			}
		}
		return true
	}
	for _, c := range list {
		if !c.Hidden {
			fmt.Fprintln(t.Out, c.Name)
		}
	}
	return true
}
