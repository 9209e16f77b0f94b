/** Pages whose commands must work as pasted: a shell runs them, and their output is compared with the page. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { everythingByTls, testTls } from '../tls/tls.ts'

/** One block of commands, and the output that the page shows, if any. */
export interface Pasted {
  readonly commands: string
  readonly shown: string | undefined
}

/** The blocks of a page marked `sh`, each with the unmarked block right after it. */
export function pastedBlocks(markdown: string): Pasted[] {
  const blocks = markdown.matchAll(/^```sh\n(.*?)^```\n(?:```\n(.*?)^```$)?/gms)
  return [...blocks].map(([, commands, shown]) => ({ commands: commands!, shown }))
}

/** The commands that set variables, with other values. @throws unless they set exactly these */
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

/** Runs blocks in one shell, as a reader who pastes them. Returns the output of each. */
export async function paste(blocks: readonly string[], limitMs: number): Promise<string[]> {
  const script = blocks.join(`\nprintf '%s' '${between}'\n`)
  // No file of the user's own may change the behaviour of curl.
  const trusted = everythingByTls ? { CURL_CA_BUNDLE: testTls().authority.caFile } : {}
  const env = { PATH: process.env.PATH, CURL_HOME: '/nonexistent', LC_ALL: 'C.UTF-8', ...trusted }
  const { stdout } = await promisify(execFile)('bash', ['-c', script], { env, timeout: limitMs })
  return stdout.replaceAll('\r', '').split(between)
}

/** Whether an output matches the page, where `…` matches any text, and any lines on a line of its own. */
export function isAsShown(output: string, shown: string): boolean {
  const parts = shown.trimEnd().split(/^…\n?|…/m)
  const form = parts.map(part => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('.*')
  return new RegExp(`^${form}$`, 's').test(output.trimEnd())
}
