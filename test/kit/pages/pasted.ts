/** Pages whose commands work as pasted: a shell runs them, and what it says is held against what the page shows. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { everythingByTls, testTls } from '../tls/tls.ts'

/** One block of commands, and what the page shows of its output, if anything. */
export interface Pasted {
  readonly commands: string
  readonly shown: string | undefined
}

/** The blocks of a page that are marked `sh`, with the unmarked block right after each. */
export function pastedBlocks(markdown: string): Pasted[] {
  const blocks = markdown.matchAll(/^```sh\n(.*?)^```\n(?:```\n(.*?)^```$)?/gms)
  return [...blocks].map(([, commands, shown]) => ({ commands: commands!, shown }))
}

/** The commands that set variables, with other values. @throws unless they set just these */
export function withVariables(commands: string, values: Readonly<Record<string, string>>): string {
  const names = commands
    .trim()
    .split('\n')
    .map(line => /^(\w+)=\S+$/.exec(line)?.[1])
  if (names.join() !== Object.keys(values).join()) throw new Error(`the page sets ${names}`)
  return Object.entries(values)
    .map(([name, value]) => `${name}='${value}'\n`)
    .join('')
}

const between = '=-=-= the next block =-=-='

/** Runs blocks in one shell, as who pastes them would; gives what each wrote. */
export async function paste(blocks: readonly string[], limitMs: number): Promise<string[]> {
  const script = blocks.join(`\nprintf '%s' '${between}'\n`)
  // No file of the user's own is read that could change what curl does.
  const trusted = everythingByTls ? { CURL_CA_BUNDLE: testTls().authority.caFile } : {}
  const env = { PATH: process.env.PATH, CURL_HOME: '/nonexistent', LC_ALL: 'C.UTF-8', ...trusted }
  const { stdout } = await promisify(execFile)('bash', ['-c', script], { env, timeout: limitMs })
  return stdout.replaceAll('\r', '').split(between)
}

/** Whether an output is as it is shown, where `…` stands for anything, on a line of its own for any lines. */
export function isAsShown(output: string, shown: string): boolean {
  const parts = shown.trimEnd().split(/^…\n?|…/m)
  const form = parts.map(part => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('.*')
  return new RegExp(`^${form}$`, 's').test(output.trimEnd())
}
