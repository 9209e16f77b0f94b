/** Suites of `npm test`: how each is run. */
import { spawn } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { attacksNamed } from './attack-files.ts'
import { type Counts, countReport, single, type VitestReport } from './counts.ts'

const checkout = fileURLToPath(new URL('../..', import.meta.url))
const orphanWatcher = new URL('../../scripts/orphan.mjs', import.meta.url).href

interface Ended {
  readonly code: number | null
  readonly stdout: string
}

type OnLine = (line: string) => void

interface NodeOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  /** Gets each line of its output, of stdout too unless that is returned. Default: all output goes to stderr. */
  readonly onLine?: OnLine | undefined
  /** Whether to return its stdout. */
  readonly capture?: boolean
}

/** Runs a program of the checkout to its end. It ends with this process, even when that is killed. */
function runNode(args: readonly string[], options: NodeOptions): Promise<Ended> {
  const { env, signal, onLine, capture = false } = options
  signal.throwIfAborted()
  const output = onLine ? 'pipe' : 2
  const child = spawn(process.execPath, ['--import', orphanWatcher, ...args], {
    cwd: checkout,
    env: { ...process.env, ...(onLine && colours()), ...env },
    stdio: ['ignore', capture ? 'pipe' : output, output, 'ipc'],
  })
  const stop = () => child.kill('SIGTERM')
  signal.addEventListener('abort', stop, { once: true })
  let stdout = ''
  if (capture) {
    child.stdout?.on('data', (chunk: Buffer) => {
      stdout += chunk
    })
  }
  if (onLine) {
    for (const stream of [capture ? null : child.stdout, child.stderr]) {
      if (stream) createInterface({ input: stream }).on('line', onLine)
    }
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', code => {
      signal.removeEventListener('abort', stop)
      if (signal.aborted) reject(signal.reason)
      else resolve({ code, stdout })
    })
  })
}

/** A program whose output is passed on does not see the terminal itself. */
const colours = () => (process.stderr.isTTY ? { FORCE_COLOR: '1' } : {})

const program = (path: string) => join(checkout, 'node_modules', path)

export async function checkTypes(signal: AbortSignal, onLine?: OnLine): Promise<Counts> {
  const { code } = await runNode([program('typescript/bin/tsc'), '--noEmit'], { signal, onLine })
  return single(code === 0)
}

export async function lint(signal: AbortSignal, onLine?: OnLine): Promise<Counts> {
  const biome = program('@biomejs/biome/bin/biome')
  return single((await runNode([biome, 'check', '--error-on-warnings'], { signal, onLine })).code === 0)
}

/** Projects of vitest.config.ts. */
export type Project =
  | 'unit'
  | 'beside'
  | 'integration'
  | 'faults'
  | 'idle-faults'
  | 'attack'
  | 'crowd'
  | 'node'
  | 'node-alone'
  | 'vm'

/** Attacks on a cluster with nodes of KWOK, in this order: the last one's remains go with the cluster. */
export const attackProjects = ['faults', 'idle-faults', 'attack', 'crowd'] as const satisfies readonly Project[]

/** The part of a project to run: tests whose name matches, in files whose path contains one of the filters. */
export interface Chosen {
  readonly pattern?: string | undefined
  readonly filters: readonly string[]
}

/** Options and file filters for vitest; null when no file of the project is meant. */
export function vitestArgs(project: Project, { pattern, filters }: Chosen): readonly string[] | null {
  const files = project === 'attack' ? attacksNamed(filters) : filters
  if (project === 'attack' && files.length === 0) return null
  return [...(pattern === undefined ? [] : ['-t', pattern]), ...files]
}

/** One project that vitest runs, with options and file filters. */
export interface VitestRun {
  readonly project: Project
  readonly args: readonly string[]
}

/** The runs of these projects that the chosen part needs. */
export function runsOf(projects: readonly Project[], chosen: Chosen): readonly VitestRun[] {
  return projects.flatMap(project => {
    const args = vitestArgs(project, chosen)
    return args ? [{ project, args }] : []
  })
}

export interface VitestOptions extends VitestRun {
  readonly env?: Readonly<Record<string, string>>
  /** Folder for its report. */
  readonly folder: string
  readonly signal: AbortSignal
  /** Gets each line of its output. Default: it writes to the terminal. */
  readonly onLine?: OnLine | undefined
}

/** Runs one project of vitest and counts its tests. */
export async function runVitest(options: VitestOptions): Promise<Counts> {
  const { ended, report } = await reportVitest(options)
  const counts = countReport(report)
  // For example an error that no test threw.
  return !ended && counts.failed === 0 ? { ...counts, failed: 1 } : counts
}

/** Runs one project of vitest; returns its report, and whether it succeeded. */
export async function reportVitest(options: VitestOptions): Promise<{ ended: boolean; report: VitestReport }> {
  const { project, args, env = {}, folder, signal, onLine } = options
  const report = join(folder, `vitest-${project}.json`)
  rmSync(report, { force: true })
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  const command = [program('vitest/vitest.mjs'), 'run', '--project', project, '--passWithNoTests']
  const { code } = await runNode([...command, ...reporters, ...args], { env, signal, onLine })
  return { ended: code === 0, report: readReport(report) }
}

function readReport(file: string): VitestReport {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return { testResults: [] }
  }
}

/** Runs the demo once, as a user would, on a machine with real labs: JupyterLab itself must answer. */
export async function runDemo(signal: AbortSignal, onLine?: OnLine): Promise<Counts> {
  const { code, stdout } = await runNode(['dev/demo.ts', '--once', '--json'], { signal, onLine, capture: true })
  return single(code === 0 && labAnswered(stdout))
}

/** Runs `npm test` with options of its own; returns its exit code. */
export async function runTests(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<number> {
  return (await runNode(['dev/test.ts', ...args], { env, signal })).code ?? 1
}

/** Whether the demo's line of JSON says that the lab ran and answered. */
export function labAnswered(stdout: string): boolean {
  try {
    const { lab } = JSON.parse(stdout) as { lab?: { status?: string; http?: number } | null }
    return lab?.status === 'running' && lab.http === 200
  } catch {
    return false
  }
}
