/** Tests, types and lint of the Python package, in an environment for each supported JupyterHub. */
import { readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { searchPath } from '../process/command.ts'
import { startProcess, stopProcess } from '../process/process.ts'
import type { Progress } from '../process/progress.ts'
import { type HubVersion, hubEnvironment, hubVersions, packageSource } from '../setup/jupyterhub.ts'
import { type Counts, failureLine, noTests, single, sum } from './counts.ts'

export interface PythonSuite {
  /** Folder of an open run. */
  readonly folder: string
  readonly progress: Progress
  readonly signal: AbortSignal
}

/** Folders of the environments, made when the cache lacks them. */
export async function setupPython(progress: Progress, signal: AbortSignal): Promise<void> {
  for (const version of hubVersions) await hubEnvironment(version, progress, signal)
}

/** Runs the package's tests under each JupyterHub and counts them; in parallel, since half the time is waiting. */
export async function runPytest(suite: PythonSuite): Promise<Counts> {
  const all = await Promise.all(hubVersions.map(version => runPytestUnder(version, suite)))
  return all.reduce(sum, noTests)
}

async function runPytestUnder(version: HubVersion, suite: PythonSuite): Promise<Counts> {
  const report = join(suite.folder, `pytest-${version}.xml`)
  const ended = await runModule(suite, version, 'pytest', ['-q', `--junitxml=${report}`])
  const counts = countJunit(readReport(report))
  return !ended && counts.failed === 0 ? { ...counts, failed: 1 } : counts
}

/** Checks the package and its tests, with the newest JupyterHub. */
export const checkPythonTypes = async (suite: PythonSuite): Promise<Counts> =>
  single(await runModule(suite, 6, 'mypy', [`--cache-dir=${join(suite.folder, 'mypy')}`]))

/** Checks all Python in the package's folder, including the examples. */
export async function lintPython(suite: PythonSuite): Promise<Counts> {
  const options = ['--no-cache', '.']
  const formatted = await runModule(suite, 6, 'ruff', ['format', '--check', ...options])
  return single((await runModule(suite, 6, 'ruff', ['check', ...options])) && formatted)
}

/** Runs a module in the package's folder; returns whether it succeeded. Prints its output when it failed. */
async function runModule(suite: PythonSuite, version: HubVersion, module: string, args: string[]): Promise<boolean> {
  const { folder, progress, signal } = suite
  const bin = join(await hubEnvironment(version, progress, signal), 'bin')
  const name = `${module}-${version}`
  const env = {
    PATH: [bin, ...searchPath].join(delimiter),
    PYTHONPATH: join(packageSource, 'src'),
    PYTHONDONTWRITEBYTECODE: '1',
  }
  const command = join(bin, 'python')
  const spec = { name, command, args: ['-m', module, ...args], cwd: packageSource, env, stateDir: folder }
  const { ended, logFile } = await startProcess(spec)
  const stop = () => void stopProcess(folder, name, 0)
  signal.addEventListener('abort', stop, { once: true })
  const code = await ended
  signal.removeEventListener('abort', stop)
  signal.throwIfAborted()
  if (code !== 0) process.stderr.write(readFileSync(logFile))
  return code === 0
}

/** Sums the figures of each suite in a JUnit report, and names what failed; empty text has none. */
export function countJunit(xml: string): Counts {
  const counts = [...xml.matchAll(/<testsuite (?<attributes>[^>]*)>/g)]
    .map(({ groups }): Counts => {
      const number = (name: string) => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(groups!.attributes!)?.[1] ?? 0)
      const [failed, skipped] = [number('failures') + number('errors'), number('skipped')]
      return { ...noTests, passed: number('tests') - failed - skipped, failed, skipped }
    })
    .reduce(sum, noTests)
  const failures = [...xml.matchAll(/ name="(?<name>[^"]*)"[^>]*><(?:failure|error) message="(?<message>[^"]*)"/g)]
  return { ...counts, failures: failures.map(({ groups }) => failureLine(groups!.name!, groups!.message!)) }
}

function readReport(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
