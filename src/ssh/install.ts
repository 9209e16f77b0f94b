/**
 * Puts the program on a machine. Each file is unpacked beside its place, its hash is checked there, and only then it gets its
 * name: whatever ends in the middle, a file under its name is whole. Two keepers may do it at once.
 */
import { randomBytes } from 'node:crypto'
import { Slots } from '../base/slots.ts'
import { MachineLacks, Unreachable } from './errors.ts'
import type { RunOptions } from './exec.ts'
import type { Exit, Installed, InstallOptions } from './machine.ts'
import type { ProgramFile, RunnerProgram } from './program.ts'
import { quoted } from './quoted.ts'

type Run = (command: string, options: RunOptions) => Promise<Exit>

const defaultMs = 120_000
const tools = ['gzip', 'sha256sum', 'chmod', 'mv', 'mkdir', 'rm']
/** The exit code of our scripts for a copy that arrived damaged. */
const damaged = 66

/** See `Machine.install`. */
export async function install(run: Run, program: RunnerProgram, options: InstallOptions): Promise<Installed> {
  const { timeoutMs = defaultMs, signal } = options
  const limits = { signal, timeoutMs }
  if (program.isStanding) return standing(run, `${program.directory}/skylab`, limits)
  const folder = `${program.directory}/skylab~${program.hash}`
  const there = await survey(run, program, folder, limits)
  const missing = program.files.filter(({ name, sha256 }) => there.get(name) !== sha256)
  for (const file of missing) await copiesOf(program).run(() => put(run, file, folder, limits), signal)
  const paths = program.files.map(({ name }) => quoted(`${folder}/${name}`))
  await start(run, paths[0]!, limits)
  return { command: paths.join(' '), skipped: missing.length === 0 }
}

/** Copies at once of one program: more of them would make each other late. */
const mostCopies = 4
const copies = new WeakMap<RunnerProgram, Slots>()

function copiesOf(program: RunnerProgram): Slots {
  const slots = copies.get(program) ?? new Slots(mostCopies)
  copies.set(program, slots)
  return slots
}

type Limits = Pick<RunOptions, 'signal' | 'timeoutMs'>

/** The machine's image has the program. */
async function standing(run: Run, path: string, limits: Limits): Promise<Installed> {
  const command = quoted(path)
  const { exitCode } = await run(`command -v ${command}`, { ...limits, name: 'the look for the program' })
  if (exitCode !== 0) throw new MachineLacks(`the machine's image has no program ${path}, and none is to be copied`)
  await start(run, command, limits)
  return { command, skipped: true }
}

/** The files that are there, by name, with their hashes. Lines begin with a mark: shells may greet. */
async function survey(run: Run, program: RunnerProgram, folder: string, limits: Limits): Promise<Map<string, string>> {
  const files = program.files.map(({ name }) => name)
  const script = [
    'echo "skylab machine $(uname -m)"',
    `for tool in ${tools.join(' ')}; do command -v $tool >/dev/null || echo "skylab lacks $tool"; done`,
    `if cd ${quoted(folder)} 2>/dev/null; then for file in ${files.map(quoted).join(' ')}; do`,
    '[ -f "$file" ] && [ -x "$file" ] && echo "skylab file $file $(sha256sum <"$file")"; done; fi; :',
  ].join('\n')
  const { stdout, words } = await run(inShell(script), { ...limits, name: 'the look for the program' })
  const lines = stdout.split('\n').map(line => line.trim().split(' '))
  const of = (kind: string) => lines.filter(([mark, what]) => mark === 'skylab' && what === kind)
  const [machine] = of('machine')
  if (!machine) throw new MachineLacks(`the machine runs no shell script: ${words}`)
  checkMachine(machine[2] ?? '', program.architecture)
  const lacks = of('lacks').map(line => line[2])
  if (lacks.length > 0) throw new MachineLacks(`the machine lacks ${lacks.join(', ')}, needed to install the program`)
  return new Map(of('file').map(line => [line[2] ?? '', line[3] ?? '']))
}

function checkMachine(machine: string, wanted: string | undefined): void {
  if (wanted === undefined || machine === wanted) return
  const has = /^\w{1,20}$/.test(machine) ? machine : 'unknown'
  throw new MachineLacks(`the machine's architecture is ${has}, and the program is for ${wanted}`)
}

/** Copies one file. The input ends early when the connection does; gzip notices. */
async function put(run: Run, file: ProgramFile, folder: string, limits: Limits): Promise<void> {
  const script = `
set -e
umask 022
mkdir -p "$1"
part="$1/.$2.$4"
trap 'rm -f "$part"' EXIT
trap 'exit 1' HUP INT PIPE TERM
gzip -dc >"$part"
hash=$(sha256sum <"$part")
[ "\${hash%% *}" = "$3" ] || exit ${damaged}
chmod 755 "$part"
mv -f "$part" "$1/$2"`
  const unique = randomBytes(6).toString('hex')
  const command = inShell(script, folder, file.name, file.sha256, unique)
  const name = 'the copy of the program'
  const { exitCode, words } = await run(command, { ...limits, name, input: file.open() })
  if (exitCode === damaged) throw new Unreachable('the copy of the program arrived damaged')
  if (exitCode !== 0) throw new MachineLacks(`the program cannot be copied: ${words || `exit code ${exitCode}`}`)
}

/** Finds a folder without `exec`, other C libraries, and whatever else a machine lacks. */
async function start(run: Run, command: string, limits: Limits): Promise<void> {
  const { exitCode, words } = await run(`${command} --version`, { ...limits, name: 'the start of the program' })
  if (exitCode !== 0) throw new MachineLacks(`the program does not start: ${words || `exit code ${exitCode}`}`)
}

const inShell = (script: string, ...words: string[]) =>
  ['sh', '-c', quoted(script), 'sh', ...words.map(quoted)].join(' ')
