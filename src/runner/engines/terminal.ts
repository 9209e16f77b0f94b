/**
 * A terminal for a command, by the machine's own `script`: Node makes none. Its size is changed from outside, as another process of
 * the terminal would.
 */
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { quoted } from '../../ssh/quoted.ts'

export interface Size {
  readonly columns: number
  readonly rows: number
}

/** A size within bounds: the client may be broken, and send anything. */
export const sizeOf = (columns: number, rows: number): Size => ({
  columns: bounded(columns, 80),
  rows: bounded(rows, 24),
})

const bounded = (value: number, usual: number) =>
  Number.isInteger(value) && value > 0 && value < 10_000 ? value : usual

/** The command line of a command in a terminal, on this machine. `script` itself ends as the command does. */
export function inTerminal(command: readonly string[], { columns, rows }: Size): readonly string[] {
  const sized = `stty rows ${rows} cols ${columns} 2>/dev/null; exec ${command.map(quoted).join(' ')}`
  return ['script', '--quiet', '--return', '--echo', 'always', '--command', sized, '/dev/null']
}

/** Terminals whose size is being set, by the pid of `script`, and the last size that was asked for meanwhile. */
const setting = new Map<number, Size | undefined>()

/**
 * One size is set after another, and the last one stays: two that are set at once may end in any order.
 * @param pid of `script`. A terminal that is gone has no size.
 */
export function resize(pid: number, size: Size): void {
  if (setting.has(pid)) return void setting.set(pid, size)
  const terminal = terminalOf(pid)
  if (terminal === undefined) return
  setting.set(pid, undefined)
  const args = ['-F', terminal, 'rows', String(size.rows), 'cols', String(size.columns)]
  const stty = spawn('stty', args, { stdio: 'ignore' }).on('error', () => {})
  stty.once('close', () => {
    const next = setting.get(pid)
    setting.delete(pid)
    if (next) resize(pid, next)
  })
}

/** The path of the terminal whose other end this process has; undefined when it has none. */
export function terminalOf(pid: number): string | undefined {
  try {
    const folder = `/proc/${pid}/fdinfo`
    const facts = readdirSync(folder).map(fd => readFileSync(`${folder}/${fd}`, 'utf8'))
    const [, index] = /^tty-index:\s*(\d+)$/m.exec(facts.join('\n')) ?? []
    return index && `/dev/pts/${index}`
  } catch {
    return undefined
  }
}
