/**
 * One machine from its creation to its end, to test a cloud, an image and a configuration (Arvados' `cloudtest`). It has a tag
 * of its own, so that no installation takes it. All that was made is ended, whatever fails.
 */
import type { Clock } from '../base/clock.ts'
import type { Instance, Intent } from '../clouds/driver.ts'
import type { Warrant } from '../dispatch/protocol.ts'
import type { Cloud } from '../machines/cloud.ts'
import type { RunnerProgram } from '../ssh/program.ts'
import { Account, type Found } from './account.ts'
import { type Reach, TestedMachine } from './machine.ts'
import { type StepReport, Steps, type StepsOptions } from './steps.ts'

export interface CloudtestOptions extends Omit<StepsOptions, 'clock'> {
  readonly cloud: Cloud
  readonly reach: Reach
  readonly clock: Clock
  readonly intent: Intent
  /** The machine's, in hex. */
  readonly secret: string
  /** The right to run the small command. */
  readonly warrant: Warrant
  /** Whether what an earlier test left is ended; else the test fails there. */
  readonly destroyExisting: boolean
  readonly times: {
    readonly bootingMs: number
    readonly runMs: number
    readonly shutdownMs: number
    readonly endMs: number
    readonly lagMs: number
  }
}

export interface CloudtestReport {
  readonly ok: boolean
  /** The cloud's id of the machine; '' if there was none. */
  readonly instance: string
  readonly steps: readonly StepReport[]
  /** Ids of what may be left in the account, with why. */
  readonly left: Readonly<Record<string, string>>
}

/** @param signals `stop` ends the test, which then ends its machine; `force` ends even that */
export async function cloudtest(
  options: CloudtestOptions,
  signals: { readonly stop: AbortSignal; readonly force: AbortSignal },
): Promise<CloudtestReport> {
  const { clock, cloud, times } = options
  const steps = new Steps(options)
  const account = new Account({ ...times, clock, cloud, steps })
  const left = new Map<string, string>()
  const machine = new TestedMachine({ ...options, steps })
  let ok = true
  const attempt = async (work: () => Promise<void>) => {
    await work().catch(() => {
      ok = false
    })
  }
  let isClear = false
  await attempt(async () => {
    // A program that cannot be installed is found before there is a machine.
    await steps.run('program', () => options.reach.program(), programWords)
    await clear(options, steps, account, left, signals.stop)
    isClear = true
    await live(options, steps, account, machine, signals.stop)
  })
  machine.close()
  // Machines that an earlier test left are not of this one.
  if (isClear) await attempt(() => end(steps, account, left, signals.force))
  return { ok, instance: account.made ?? '', steps: steps.reports, left: Object.fromEntries(left) }
}

type Left = Map<string, string>

/** An earlier test may have been killed, or its cloud may have said yes and done nothing. */
async function clear(
  { destroyExisting, times, clock }: CloudtestOptions,
  steps: Steps,
  account: Account,
  left: Left,
  signal: AbortSignal,
): Promise<void> {
  const work = async () => {
    const found = await account.lookAgain(clock.monotonicMs() + times.bootingMs, signal)
    const names = [...idsOf(found.machines), ...idsOf(found.interfaces)]
    if (names.length === 0) return names
    for (const name of names) left.set(name, 'left by an earlier test')
    if (!destroyExisting) throw new Error(`an earlier test left ${names.join(', ')}: run again with --destroy-existing`)
    await endAll(account, { ...found, machines: idsOf(found.machines) }, left, signal)
    signal.throwIfAborted()
    if (left.size > 0) throw new Error(wordsOf(left))
    return names
  }
  await steps.run('leftovers', work, names => (names.length === 0 ? 'none' : `ended ${names.join(', ')}`))
}

async function live(
  { intent, times, clock, warrant }: CloudtestOptions,
  steps: Steps,
  account: Account,
  machine: TestedMachine,
  signal: AbortSignal,
): Promise<void> {
  const untilMs = clock.monotonicMs() + times.bootingMs
  const { id } = await steps.run(
    'create',
    () => account.create(intent, untilMs, signal),
    made => madeWords(made, intent),
  )
  const { address = '' } = await steps.run(
    'list',
    () => account.listed(id, intent.tags, untilMs, signal),
    found => `running at ${found.address}, with its tags`,
  )
  await steps.run(
    'connect',
    () => machine.connect(address, untilMs, signal),
    key => `our key is taken, its secret is right; host key ${key.split(' ')[0]}`,
  )
  await steps.run(
    'boot',
    () => machine.boot(untilMs, signal),
    () => 'BootProbeCommand succeeds',
  )
  const installed = await steps.run(
    'install',
    () => machine.install(untilMs, signal),
    ({ skipped }) => (skipped ? 'the runner was there' : 'the runner was copied'),
  )
  await steps.run(
    'run',
    () => machine.run(installed, warrant, times.runMs, signal),
    output => `exit code 0: ${output}`,
  )
}

const programWords = ({ isStanding, files, directory }: RunnerProgram) =>
  isStanding ? `the image has it in ${directory}` : `${files.map(({ name }) => name).join(' and ')}, to be copied`

const madeWords = ({ id }: Instance, { providerType, image }: Intent) =>
  `${id} of type ${providerType}${image === '' ? '' : `, image ${image}`}`

/** Ends what this test has made, and proves it. */
async function end(steps: Steps, account: Account, left: Left, signal: AbortSignal): Promise<void> {
  if (account.made === undefined && !account.mayHaveMore && !account.hasInterfaces) return
  const work = async () => {
    const ids = await account.own(signal)
    await endAll(account, { machines: ids, interfaces: [] }, left, signal)
    if (account.hasInterfaces && left.size === 0)
      await endAll(account, { ...(await account.look(signal)), machines: [] }, left, signal)
    if (left.size > 0) throw new Error(wordsOf(left))
    return ids
  }
  await steps.run('destroy', work, ids => (ids.length > 0 ? `${ids.join(', ')} is gone` : noneWords(account)))
}

const noneWords = ({ mayHaveMore }: Account) =>
  mayHaveMore
    ? 'the answer was lost, and no machine has appeared: look again with --destroy-existing'
    : 'there was no machine; its interfaces are gone'

async function endAll(
  account: Account,
  { machines, interfaces }: { readonly machines: readonly string[]; readonly interfaces: Found['interfaces'] },
  left: Left,
  signal: AbortSignal,
): Promise<void> {
  for (const id of machines) left.set(id, 'its end is not proved')
  const still = [...(await account.end(machines, signal)), ...(await account.remove(interfaces, signal))]
  for (const id of [...machines, ...interfaces.map(each => each.id)]) left.delete(id)
  for (const [id, words] of still) left.set(id, words)
}

const idsOf = (all: readonly { readonly id: string }[]) => all.map(({ id }) => id)
const wordsOf = (left: Left) => [...left].map(([id, words]) => `${id}: ${words}`).join('; ')
