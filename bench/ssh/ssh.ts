/**
 * Times what a keeper does by SSH with a new machine, and what many idle connections cost. docs/bench.md explains the result.
 *   npm run bench -- ssh [--rounds 30] [--connections 100] [--copies 3]
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleRunner } from '../../dev/image/bundle.ts'
import type { Progress } from '../../dev/process/progress.ts'
import { setup } from '../../dev/setup/setup.ts'
import { systemClock } from '../../src/base/clock.ts'
import { Attached } from '../../src/dispatch/attached.ts'
import { connect } from '../../src/ssh/connect.ts'
import type { Machine } from '../../src/ssh/machine.ts'
import { itself, type RunnerProgram, runnerProgram } from '../../src/ssh/program.ts'
import { someKey } from '../../src/ssh/testing/keys.ts'
import { machine } from '../measure/machine.ts'
import { numbersOf } from '../measure/options.ts'
import { median, percentile, round } from '../measure/statistics.ts'
import { listeningSshd } from './sshd.ts'

const defaults = { rounds: 30, connections: 100, copies: 3 }
const secret = 'a-secret-of-this-machine-0123456789'
const checkout = fileURLToPath(new URL('../..', import.meta.url))

export async function sshBench(args: readonly string[], progress: Progress, signal: AbortSignal): Promise<object> {
  const options = numbersOf(args, defaults)
  const conditions = machine()
  await setup(['machines'], progress, signal)
  const ours = someKey()
  const server = await listeningSshd(mkdtempSync(join(tmpdir(), 'skylab-bench-')), secret, ours.public)
  const to = () => connect({ address: server.address, key: ours.key, secret, agent: 'bench/1/1', signal })
  try {
    await bundleRunner(checkout, server.folder)
    const program = await timed(() => runnerProgram({ deploy: itself, bundle: join(server.folder, 'runner.cjs') }))
    progress.say(`${options.rounds} connections, one after another`)
    const connecting = await connectingOf(to, options.rounds)
    progress.say(`${options.copies} copies of ${program.value.files.length} files`)
    const installing = await installingOf(to, program.value, server.folder, options)
    progress.say(`${options.connections} idle connections`)
    const idle = await idleOf(to, options.connections)
    return { bench: 'ssh', ...conditions, options, ...connecting, hash_ms: round(program.ms), ...installing, ...idle }
  } finally {
    await server.stop()
  }
}

async function connectingOf(to: () => Promise<Machine>, rounds: number): Promise<object> {
  const [connects, execs]: [number[], number[]] = [[], []]
  for (let i = 0; i < rounds; i += 1) {
    const { ms, value } = await timed(to)
    connects.push(ms)
    execs.push((await timed(() => value.exec('true'))).ms)
    value.close()
  }
  return { connect_ms: spread(connects), exec_ms: spread(execs) }
}

async function installingOf(
  to: () => Promise<Machine>,
  program: RunnerProgram,
  folder: string,
  { copies, rounds }: typeof defaults,
): Promise<object> {
  const target = await to()
  const install = (name: string) => timed(() => target.install({ ...program, directory: join(folder, name) }))
  // Packs the program too, which a replica does once.
  const first = await install('first')
  const others: number[] = []
  for (let i = 0; i < copies; i += 1) others.push((await install(`copy-${i}`)).ms)
  const skipped: number[] = []
  for (let i = 0; i < copies; i += 1) skipped.push((await install('first')).ms)
  const welcomes: number[] = []
  const run = `SKYLAB_RUNNER_DIR=${folder}/state SKYLAB_INSTANCE_SECRET_FILE=${folder}/secret ${first.value.command}`
  for (let i = 0; i < rounds; i += 1) welcomes.push((await timed(() => welcome(target, run, i + 1))).ms)
  target.close()
  return {
    program_mb: round(program.files.reduce((sum, { bytes }) => sum + bytes, 0) / 1e6),
    ...{ first_install_ms: round(first.ms), install_ms: spread(others), skipped_install_ms: spread(skipped) },
    welcome_ms: spread(welcomes),
  }
}

async function welcome(target: Machine, command: string, epoch: number): Promise<void> {
  const stream = await target.channel(`${command} runner attach --engine process`)
  const link = new Attached({
    ...{ stream, clock: systemClock, secret },
    ...{ onEntry: () => {}, onBeat: () => {}, onClosed: () => {} },
  })
  await link.hello(epoch)
  link.close()
}

/** Of this process alone: sshd has its own. */
async function idleOf(to: () => Promise<Machine>, count: number): Promise<object> {
  const before = await memory()
  const { ms, value: machines } = await timed(() => Promise.all(Array.from({ length: count }, to)))
  const channels = await Promise.all(machines.map(each => each.channel('cat')))
  const after = await memory()
  for (const each of machines) each.close()
  return {
    connect_all_ms: round(ms),
    connection_kb: {
      ...{ heap: round((after.heap - before.heap) / count / 1e3), rss: round((after.rss - before.rss) / count / 1e3) },
      channels: channels.length,
    },
  }
}

async function memory() {
  for (let i = 0; i < 3; i += 1) {
    globalThis.gc?.()
    await systemClock.sleep(200)
  }
  const { heapUsed, external, rss } = process.memoryUsage()
  return { heap: heapUsed + external, rss }
}

async function timed<T>(work: () => Promise<T>): Promise<{ readonly ms: number; readonly value: T }> {
  const begunMs = systemClock.monotonicMs()
  const value = await work()
  return { ms: systemClock.monotonicMs() - begunMs, value }
}

const spread = (values: readonly number[]) => ({
  ...{ p50: round(median(values)), p95: round(percentile(values, 0.95)), max: round(percentile(values, 1)) },
})
