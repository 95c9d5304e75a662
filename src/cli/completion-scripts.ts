import type { Command, Option } from 'commander'

/** What a shell has to know of the command line. */
export interface CommandTree {
  readonly name: string
  /** Of every command. */
  readonly options: readonly CompletedOption[]
  readonly commands: readonly CompletedCommand[]
}

interface CompletedCommand {
  readonly name: string
  readonly about: string
  readonly options: readonly CompletedOption[]
  /** What its argument can be; empty where nobody knows. */
  readonly choices: readonly string[]
}

interface CompletedOption {
  /** `-o`, `--output` */
  readonly names: readonly string[]
  readonly about: string
  readonly value: 'none' | 'file' | 'any' | readonly string[]
}

export function commandTree(program: Command): CommandTree {
  const help = program.createHelp()
  const commands = help.visibleCommands(program)
  const options = (command: Command) => help.visibleOptions(command).map(completedOption)
  return {
    name: program.name(),
    options: options(program),
    commands: commands.map((command) => ({
      name: command.name(),
      about: command.description(),
      options: options(command),
      choices:
        command.name() === 'help'
          ? commands.map((one) => one.name())
          : command.registeredArguments.flatMap((argument) => argument.argChoices ?? []),
    })),
  }
}

function completedOption(option: Option): CompletedOption {
  const { argChoices, description, flags, long, required, short } = option
  const value = !required ? 'none' : (argChoices ?? (/<(file|path)>/.test(flags) ? 'file' : 'any'))
  return {
    names: [short, long].filter((name) => name !== undefined && name !== null),
    about: description,
    value,
  }
}

/** For bash 3.2 and newer; needs nothing of the package bash-completion. */
export function bashScript({ name, options, commands }: CommandTree): string {
  const all = [...options, ...commands.flatMap((command) => command.options)]
  const valued = unique(all.filter(({ value }) => value !== 'none').flatMap(({ names }) => names))
  const listed = all.filter(({ value }) => typeof value !== 'string')
  const words = (list: readonly CompletedOption[]) => unique(list.flatMap(({ names }) => names)).join(' ')
  const cases = commands.map(
    (command) =>
      `    ${command.name}) options="$options ${words(command.options)}" words='${command.choices.join(' ')}' ;;`,
  )
  return `# bash completion of ${name}: source <(${name} completion bash)
_${name}() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} command= i
  # --output=json comes as three words.
  if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=\${COMP_WORDS[COMP_CWORD-2]}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case \${COMP_WORDS[i]} in
      ${valued.join('|')}) [[ \${COMP_WORDS[i+1]:-} == = ]] && ((i++)); ((i++)) ;;
      -*) ;;
      *) command=\${COMP_WORDS[i]}; break ;;
    esac
  done
  COMPREPLY=()
  case $prev in
${unique(listed.map(({ names, value }) => `    ${names.join('|')}) COMPREPLY=($(compgen -W '${[...value].join(' ')}' -- "$cur")); return ;;`)).join('\n')}
    # Nothing of ours: bash offers files.
    ${valued.join('|')}) return ;;
  esac
  local options='${words(options)}' words='${commands.map((command) => command.name).join(' ')}'
  case $command in
    '') ;;
${cases.join('\n')}
    *) return ;;
  esac
  if [[ $cur == -* ]]; then words=$options; fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _${name} ${name}`
}

export function zshScript({ name, options, commands }: CommandTree): string {
  const spec = ({ names, about, value }: CompletedOption) => {
    const flags = names.length > 1 ? `'(${names.join(' ')})'{${names.join(',')}}` : names.join('')
    const end = { none: '', file: ':file:_files', any: ':value: ' }
    const values = typeof value === 'string' ? end[value] : `:value:(${value.join(' ')})`
    return `${flags}${quoted(`[${about.replace(/[[\]\\]/g, '\\$&')}]${values}`)}`
  }
  const everywhere = options.filter(({ names }) => !names.includes('--help') && !names.includes('--version'))
  const first = options.filter((option) => !everywhere.includes(option))
  const cases = commands.map(({ name: command, options: own, choices }) => {
    const rest = choices.length === 0 ? `'*: :'` : quoted(`1: :(${choices.join(' ')})`)
    return `        ${command}) _arguments $common ${[...own.map(spec), rest].join(' ')} ;;`
  })
  const described = commands.map((command) => quoted(`${command.name}:${command.about}`))
  return `#compdef ${name}
# zsh completion of ${name}: source <(${name} completion zsh), or as a file _${name} in a folder of $fpath
_${name}() {
  local context state state_descr line
  typeset -A opt_args
  local -a common=(${everywhere.map(spec).join(' ')})
  local -a commands=(${described.join(' ')})
  _arguments -C $common ${first.map(spec).join(' ')} '1: :->command' '*:: :->rest'
  case $state in
    command) _describe command commands ;;
    rest)
      case $line[1] in
${cases.join('\n')}
      esac ;;
  esac
}
if [[ $funcstack[1] == _${name} ]]; then _${name} "$@"; else compdef _${name} ${name}; fi`
}

export function fishScript({ name, options, commands }: CommandTree): string {
  const line = (when: string, { names, about, value }: CompletedOption) => {
    const flags = names.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`))
    const end = { none: [], file: ['-r', '-F'], any: ['-x'] }
    const values = typeof value === 'string' ? end[value] : ['-x', '-a', quoted(value.join(' '))]
    return [
      `complete -c ${name}`,
      ...(when === '' ? [] : ['-n', quoted(when)]),
      ...flags,
      ...values,
      '-d',
      fishQuoted(about),
    ].join(' ')
  }
  const names = commands.map((command) => command.name).join(' ')
  const inCommand = (command: string) => `__fish_seen_subcommand_from ${command}`
  return [
    `# fish completion of ${name}: ${name} completion fish | source`,
    `complete -c ${name} -f`,
    ...options.map((option) => line('', option)),
    ...commands.flatMap((command) => [
      `complete -c ${name} -n ${quoted(`not ${inCommand(names)}`)} -a ${command.name} -d ${fishQuoted(command.about)}`,
      ...command.options.map((option) => line(inCommand(command.name), option)),
      ...(command.choices.length === 0
        ? []
        : [
            `complete -c ${name} -n ${quoted(`${inCommand(command.name)}; and not ${inCommand(command.choices.join(' '))}`)} -a ${quoted(command.choices.join(' '))}`,
          ]),
    ]),
  ].join('\n')
}

function unique(list: readonly string[]): string[] {
  return [...new Set(list)]
}

/** For bash and zsh. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

function fishQuoted(text: string): string {
  return `'${text.replace(/['\\]/g, '\\$&')}'`
}
