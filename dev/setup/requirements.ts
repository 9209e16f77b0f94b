/** Lists of Python packages with checksums of their files: a fetched file must match one of them. */
import { existsSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { attempt, run } from '../process/command.ts'
import type { Progress } from '../process/progress.ts'
import { pythonProgram } from './python.ts'

const checkout = fileURLToPath(new URL('../..', import.meta.url))
const certificates = '/etc/ssl/certs/ca-certificates.crt'

/** Paths of all lists of this checkout. */
export async function requirementFiles(): Promise<string[]> {
  const patterns = ['dev/**/requirements*.txt', 'bench/**/requirements*.txt', 'hub/requirements/*.txt']
  const found = await Array.fromAsync(glob([...patterns, 'test/**/requirements*.txt'], { cwd: checkout }))
  return found.sort().map(path => join(checkout, path))
}

/** A list: its first comment, and each package with its version. */
export interface Requirements {
  readonly comment: string
  readonly pins: readonly string[]
  /** Pins without a checksum. */
  readonly bare: readonly string[]
}

/** @throws when a line is neither comment, `name==version` nor a checksum */
export function parseRequirements(text: string): Requirements {
  const lines = text.replaceAll(/\\\n/g, ' ').split('\n')
  const comment = lines.filter(line => line.startsWith('#')).join('\n')
  const pins: string[] = []
  const bare: string[] = []
  for (const line of lines.filter(each => each.trim() && !each.startsWith('#'))) {
    const [pin = '', ...hashes] = line.trim().split(/\s+/)
    if (
      !/^[\w.-]+(\[[\w,]+\])?==[\w.!+-]+$/.test(pin) ||
      !hashes.every(hash => /^--hash=sha256:[0-9a-f]{64}$/.test(hash))
    ) {
      throw new Error(`not a package with its version: ${line}`)
    }
    pins.push(pin)
    if (hashes.length === 0) bare.push(pin)
  }
  return { comment, pins, bare }
}

/** The same list with the index's checksums of each version, for other machines too. */
export async function lockRequirements(text: string, progress: Progress, signal?: AbortSignal): Promise<string> {
  const { comment, pins } = parseRequirements(text)
  const own = fileURLToPath(new URL('lock/requirements.txt', import.meta.url))
  const uv = await pythonProgram({ name: 'uv', requirements: own, progress, signal })
  const options = ['--no-deps', '--no-header', '--no-annotate', '--no-config', '--quiet', '--generate-hashes']
  const args = ['pip', 'compile', ...options, '--universal', '--only-binary', ':all:', '-']
  const locked = await run(uv, args, { input: `${pins.join('\n')}\n`, env: await uvEnvironment(), signal })
  return `${comment}\n${locked}`
}

/** The index and the certificate authorities of this machine's pip, for uv, which reads no settings of pip. */
async function uvEnvironment(): Promise<NodeJS.ProcessEnv> {
  const index = (await attempt('python3', ['-m', 'pip', 'config', 'get', 'global.index-url']))?.trim()
  return {
    ...process.env,
    ...(index && { UV_DEFAULT_INDEX: index }),
    ...(existsSync(certificates) && { SSL_CERT_FILE: certificates }),
  }
}
