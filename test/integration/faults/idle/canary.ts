/**
 * idle K10: the token of a lab goes to its own pod alone. While the replicas hear nothing of the cluster, the pod is exchanged
 * for a recorder at the same address; and pods that are not ready, or in the network of their node, are recorders from the start.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { eventually } from '../../../kit/cluster/world.ts'
import type { Fleet } from '../../../kit/fleet/fleet.ts'
import type { FakeJupyter } from '../../../kit/idle/fake-jupyter.ts'
import { isWhole } from '../points.ts'
import {
  activityOf,
  busy,
  type IdleLab,
  idleFleet,
  makeDue,
  pause,
  rule,
  startFake,
  startLab,
  untilMustered,
} from './labs.ts'

const canary = (index: number) => `canary-of-a-hub-${index}-7c31e0`
const labCount = isWhole ? 12 : 3
const rounds = isWhole ? 4 : 1
/** What is known of a pod is good for so long. */
const freshMs = 10_000
const recordMs = isWhole ? 10_000 : 4_000

/** Ms since the watch of pods was heard, at the replica that heard it last. */
async function silenceMs(fleet: Fleet): Promise<number> {
  const all = await Promise.all(
    fleet.monitoringUrls.map(async url => {
      const text = await (await fetch(`${url}/metrics`)).text()
      return Number(/^skylab_kubernetes_watch_silence_seconds\{watch="pods"\} (.*)$/m.exec(text)?.[1]) * 1000
    }),
  )
  return Math.min(...all)
}

const isAuthorized = ({ authorization }: { readonly authorization: string | undefined }) => authorization !== undefined

/** The API server is silent; every pod is gone, and strangers have their addresses. */
async function exchange(trial: Trial, fleet: Fleet, round: number): Promise<void> {
  const labs = await Promise.all(
    Array.from({ length: labCount }, (_, i) => startLab(trial, fleet, { token: canary(round * labCount + i) })),
  )
  await untilMustered(fleet, labs)
  const isAsked = async () => labs.every(({ fake }) => fake.asked.some(isAuthorized))
  await eventually('questions with the tokens', isAsked)
  trial.injected(labs.length)
  for (const index of fleet.urls.keys()) fleet.proxies(index).kubernetes.silence()
  await eventually('silence of all watches', async () => (await silenceMs(fleet)) > freshMs)
  // A look that began before has ended by then.
  await pause(2_000)
  await Promise.all(labs.map(({ fake }) => fake.stop()))
  const recorders = await Promise.all(labs.map(({ fake }) => recorder(trial, fake.address)))
  const pods = await Promise.all(labs.map(({ name }) => fleet.world.podOf(name)))
  await Promise.all(pods.map(({ metadata }) => fleet.world.kube.delete('Pod', metadata.name, metadata.namespace, 0)))
  await Promise.all(labs.map(({ name }) => makeDue(fleet, name)))
  await pause(recordMs)
  if ((await silenceMs(fleet)) > freshMs) trial.landed(labs.length)
  for (const index of fleet.urls.keys()) fleet.proxies(index).kubernetes.resume()
  // What was delivered late is heard, and the labs are known to be gone.
  await eventually('the end of the silence', async () => (await silenceMs(fleet)) < freshMs)
  const isOver = async () =>
    (await Promise.all(labs.map(({ name }) => fleet.admin.status(name)))).every(
      ({ status, body }) => status === 404 || (status === 200 && body.status !== 'running'),
    )
  await eventually('the labs without a pod are noticed', isOver, 60_000)
  judge(trial, labs, recorders)
}

async function recorder(trial: Trial, address: string): Promise<FakeJupyter> {
  const made = await startFake(trial, address)
  made.behave(busy())
  return made
}

function judge(trial: Trial, labs: readonly IdleLab[], recorders: readonly FakeJupyter[]): void {
  for (const [index, { asked }] of recorders.entries()) {
    const told = asked.filter(isAuthorized)
    if (told.length > 0) trial.violation(`a stranger got the token of ${labs[index]!.name} ${told.length} times`)
  }
}

/** Pods that must not be asked. */
const unfit: readonly [string, object][] = [
  ['is not ready', { conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: new Date().toISOString() }] }],
]

async function unfitPods(trial: Trial, fleet: Fleet): Promise<void> {
  for (const [index, [words, status]] of unfit.entries()) {
    trial.injected()
    const lab = await startLab(trial, fleet, { token: canary(1000 + index) })
    await untilMustered(fleet, [lab])
    await eventually('a question', async () => lab.fake.asked.length > 0)
    const ready = lab.fake.asked.length
    await fleet.world.setPodStatus(lab.name, status)
    const fails = async () => Number((await activityOf(fleet, lab.name)).fails)
    // A look that began before the watch showed it may still come.
    const isSeen = async () => (await fails()) > 0 || lab.fake.asked.length > ready + 6
    await eventually(`a look at a pod that ${words}`, isSeen)
    const [asked, failed] = [lab.fake.asked.length, await fails()]
    await makeDue(fleet, lab.name)
    const isAgain = async () => (await fails()) > failed || lab.fake.asked.length > asked
    await eventually(`another look at a pod that ${words}`, isAgain)
    if (lab.fake.asked.length > asked) trial.violation(`a pod that ${words} was asked`)
    else trial.landed()
  }
}

/** Nothing that people, operators or other programs read has a token. */
async function leaks(trial: Trial, fleet: Fleet): Promise<void> {
  const folder = join(fleet.stateDir, 'log')
  const logs = readdirSync(folder).map(name => [`the log ${name}`, readFileSync(join(folder, name), 'utf8')] as const)
  const dump = JSON.stringify(Object.fromEntries(await fleet.world.redisDump()))
  const pods = JSON.stringify(await fleet.world.kube.list('/api/v1/pods'))
  const audit = await fleet.audit.text()
  const metrics = await Promise.all(fleet.monitoringUrls.map(async url => (await fetch(`${url}/metrics`)).text()))
  const places = [...logs, ['Redis', dump], ['stamps of pods', pods], ['the audit log', audit]] as const
  for (const [place, text] of [...places, ['metrics', metrics.join('\n')] as const]) {
    if (text.includes(canary(0).slice(0, 15))) trial.violation(`a token is in ${place}`)
    if (text.includes(Buffer.from(canary(0)).toString('base64').slice(0, 20))) trial.violation(`a token is in ${place}`)
  }
}

async function exchangedPods(trial: Trial): Promise<void> {
  const fleet = await trial.fleet(
    idleFleet([rule()], { checkPeriodSeconds: 0.5 }, { proxies: 'open', users: rounds * labCount + unfit.length }),
  )
  for (let round = 0; round < rounds; round++) await exchange(trial, fleet, round)
  await unfitPods(trial, fleet)
  await leaks(trial, fleet)
}

attack('idle K10 a pod exchanged for a recorder', exchangedPods, { limitMs: 600_000, concurrent: !isWhole })
