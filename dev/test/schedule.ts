/**
 * Which suites run at once: first what needs no cluster; then the tests on each cluster, which wait about as much as they
 * compute; then what is timed, one after another.
 */
import { together } from '../process/command.ts'
import { bedWithoutCluster } from './cluster.ts'
import { type Counts, explained, failure, noTests, sum } from './counts.ts'
import type { TestOptions } from './options.ts'
import { checkPythonTypes, lintPython, type PythonSuite, runPytest } from './python.ts'
import { type ClusterRun, isRealNodeFree, onCluster, onRealNode, onRun, type RunContext } from './runs.ts'
import { attackProjects, checkTypes, lint, type Project, runDemo, runsOf, runVitest, type VitestRun } from './suites.ts'

export interface TestContext extends RunContext {
  readonly options: TestOptions
}

const onKwok = 'tests on a cluster'
const onNode = 'tests on a real node'

/** Runs the suites that the options choose, and counts their tests. */
export async function runSuites(context: TestContext): Promise<Counts> {
  const suites = new Suites(context)
  if (context.options.unit) await suites.ofCheckout()
  else if (context.options.vm) await suites.onVms()
  else await suites.all()
  return suites.counts
}

/** Gets null where there is no cluster. */
type Work = (cluster: ClusterRun | null) => Promise<void>

class Suites {
  readonly #context: TestContext
  /** Output of several programs at once comes line by line. */
  readonly #onLine: (line: string) => void
  counts: Counts = noTests

  constructor(context: TestContext) {
    this.#context = context
    this.#onLine = line => context.progress.say(line)
  }

  /** While another run has the real node, all else is tested first. */
  async all(): Promise<void> {
    const { realNode } = this.#context.options
    const isFree = realNode && (await isRealNodeFree())
    const checks = this.ofCheckout()
    const onClusters = this.#onCluster(onKwok, true, kwok => this.#onBoth(kwok, isFree, checks))
    await together(checks, onClusters)
    if (!realNode || isFree) return
    await this.#onCluster(onNode, false, node => this.#run(onNode, node, ['node', 'node-alone']))
    await this.#demo()
  }

  /** What needs no cluster. The Python package's tests wait half of their time. */
  async ofCheckout(): Promise<void> {
    const { options, signal } = this.#context
    if (options.whole) {
      await this.#suite('types', () => checkTypes(signal, this.#onLine))
      await this.#suite('lint', () => lint(signal, this.#onLine))
    }
    const [unit] = runsOf(['unit'], options)
    await together(
      this.#suite('unit tests', () => onRun(this.#context, folder => this.#vitest({ folder, env: {} }, unit!))),
      options.whole && !options.unit ? this.#ofPython() : undefined,
    )
  }

  /** Without a cluster. */
  async onVms(): Promise<void> {
    const { options, signal } = this.#context
    const [run] = runsOf(['vm'], options)
    await this.#suite('tests on real machines', () =>
      onRun(this.#context, async folder =>
        this.#vitest({ folder, env: await bedWithoutCluster(folder, signal) }, run!),
      ),
    )
  }

  async #ofPython(): Promise<void> {
    await this.#suite('types of the Python package', this.#onPython(checkPythonTypes))
    await this.#suite('lint of the Python package', this.#onPython(lintPython))
    await this.#suite('tests of the Python package', this.#onPython(runPytest))
  }

  #onPython(run: (python: PythonSuite) => Promise<Counts>): () => Promise<Counts> {
    const { progress, signal } = this.#context
    return () => onRun(this.#context, folder => run({ folder, progress, signal }))
  }

  /**
   * Tests on both clusters. The real node starts before them, and stays until the integration tests have ended: when an
   * address of the machine comes or goes, Chromium ends its requests. Timed tests then have the machine to themselves.
   */
  async #onBoth(kwok: ClusterRun | null, withNode: boolean, checks: Promise<void>): Promise<void> {
    const work = async (node: ClusterRun | null) => {
      await checks
      await together(this.#run('tests beside a real node', kwok, ['beside']), this.#run(onNode, node, ['node']))
      await this.#run(onKwok, kwok, ['integration'])
      await this.#run('timed tests on a real node', node, ['node-alone'])
    }
    await (withNode ? this.#onCluster(onNode, false, work) : work(null))
    await this.#run('attacks on a cluster', kwok, attackProjects)
    if (withNode) await this.#demo()
  }

  /** Does the work on a cluster of its own; without it, if it cannot start. */
  async #onCluster(name: string, labsOnKwok: boolean, work: Work): Promise<void> {
    let hasBegun = false
    const begin = async () => {
      await onCluster(this.#context, labsOnKwok, run => {
        hasBegun = true
        return work(run)
      })
      return noTests
    }
    await this.#count(name, labsOnKwok ? begin() : this.#whenFree(begin))
    if (!hasBegun) await work(null)
  }

  async #demo(): Promise<void> {
    const { options, signal } = this.#context
    if (options.whole) await this.#suite('the demo', () => this.#whenFree(() => runDemo(signal, this.#onLine)))
  }

  /** Skips the work when another run keeps the real node. */
  async #whenFree(work: () => Promise<Counts>): Promise<Counts> {
    return (await onRealNode(this.#context, work)) ?? { ...noTests, skipped: 1 }
  }

  /** Runs projects one after another. */
  async #run(name: string, cluster: ClusterRun | null, projects: readonly Project[]) {
    if (!cluster) return
    const { folder, env } = cluster
    await this.#suite(name, async () => {
      let counts = noTests
      for (const run of runsOf(projects, this.#context.options)) {
        counts = sum(counts, await this.#vitest({ folder, env }, run))
      }
      return counts
    })
  }

  #vitest({ folder, env }: Pick<ClusterRun, 'folder' | 'env'>, run: VitestRun): Promise<Counts> {
    return runVitest({ ...run, folder, env, signal: this.#context.signal, onLine: this.#onLine })
  }

  #suite(name: string, run: () => Promise<Counts>): Promise<void> {
    return this.#count(name, this.#context.progress.part(name, run))
  }

  /** A suite that could not begin has failed; an interrupt ends the run. */
  async #count(name: string, counting: Promise<Counts>): Promise<void> {
    const { progress, signal } = this.#context
    const counts = await counting.catch(error => {
      signal.throwIfAborted()
      const message = error instanceof Error ? error.message : String(error)
      progress.say(message)
      return failure(name, message)
    })
    this.counts = sum(this.counts, explained(name, counts))
  }
}
