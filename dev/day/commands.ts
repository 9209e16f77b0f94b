/** Splits a block into its commands, so that each is timed and judged alone. */
import { spawnSync } from 'node:child_process'
import type { Block } from './blocks.ts'

export interface Command {
  /** Page and line, such as `docs/deploy.md:40`. */
  readonly at: string
  readonly text: string
  /** The words after `# → ` behind the command: its output must contain them. */
  readonly expects: readonly string[]
}

const expectation = /\s# → (.*\S)\s*$/

/** @throws where the last command of the block has no end */
export function commandsOf({ page, line, lines }: Block): Command[] {
  const commands: Command[] = []
  let begun: string[] = []
  for (const [index, each] of lines.entries()) {
    if (begun.length === 0 && /^\s*(#|$)/.test(each)) continue
    begun.push(each)
    if (!isComplete(begun.join('\n'))) continue
    const expects = begun.flatMap(part => expectation.exec(part)?.[1] ?? [])
    // `line` is the line of the fence.
    commands.push({ at: `${page}:${line + index + 2 - begun.length}`, text: begun.join('\n'), expects })
    begun = []
  }
  if (begun.length > 0) throw new Error(`${page}:${line}: a command has no end: ${begun[0]}`)
  return commands
}

const continues = /(?<!\\)(\\\\)*\\$/
const hereDocument = /<<-?\s*['"]?(\w+)['"]?/
const opens = /^\s*(for|while|until|if|case|\{|\()|\b(do|then|else)\s*$|[|&]{1,2}\s*$/

/** One line without open quotes. Asking bash takes milliseconds, and much longer on a busy machine. */
const isPlain = (text: string) =>
  !text.includes('\n') && !opens.test(text) && ["'", '"', '`'].every(each => text.split(each).length % 2 === 1)

/** Asks bash unless the text is plain: bash fails for an open quote, and warns of a here-document without an end. */
function isComplete(text: string): boolean {
  if (continues.test(text)) return false
  const end = hereDocument.exec(text)?.[1]
  if (end !== undefined && text.split('\n').at(-1) !== end) return false
  if (end === undefined && isPlain(text)) return true
  const { status, stderr } = spawnSync('bash', ['-n'], { input: `${text}\n`, encoding: 'utf8', env: { LC_ALL: 'C' } })
  return status === 0 && stderr === ''
}
