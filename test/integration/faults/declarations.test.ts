/**
 * Attacks on what custom resources declare, by a toy: N2 (queues and a silent Redis delay no revocation), N4 (writers
 * that differ), N5 (others' objects). Late writes are in `late-declarations.test.ts`.
 */
import { waitUntil } from '../../../dev/process/api-client.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { rivalsDefaults } from '../../../src/reconcile/rivals.ts'
import { attack, type Trial } from '../../kit/attack/attack.ts'
import { type GadgetSpec, otherObjects } from '../../kit/reconcile/toy.ts'
import { ToyFleet, type ToyFleetOptions } from '../../kit/reconcile/toy-fleet.ts'
import { excess, wrongColours } from '../../kit/reconcile/toy-state.ts'
import { isWhole } from './points.ts'

const parents = isWhole ? 300 : 20
const quietMs = isWhole ? 60_000 : 5_000
const crowd = isWhole ? 1_000 : 100
/** People who edit at the same time, each their own parents. */
const editors = 4
/** How long a right may outlive its wish. */
const revokedLimitMs = 1_000

async function startFleet(trial: Trial, options?: ToyFleetOptions): Promise<ToyFleet> {
  const fleet = await ToyFleet.start(options)
  trial.context.onTestFinished(() => fleet.stop())
  return fleet
}

const namesOf = (count: number) => Array.from({ length: count }, (_, i) => `g${i}`)

async function createAll(fleet: ToyFleet, names: readonly string[]): Promise<void> {
  await Promise.all(names.map((name, i) => fleet.create(name, { colour: `c${i % 5}` })))
}

/** One edit of a parent, or of an object of it by somebody else. */
async function editAtRandom(trial: Trial, fleet: ToyFleet, names: readonly string[], i: number): Promise<void> {
  const name = names[Math.floor(trial.random() * names.length)]!
  trial.injected()
  switch (Math.floor(trial.random() * 6)) {
    case 0:
      await fleet.edit(name, { members: [`m${i}`] })
      break
    case 1:
      await fleet.edit(name, { image: `app:${i}` })
      break
    case 2:
      await fleet.edit(name, { colour: `c${i % 7}` })
      break
    case 3:
      await fleet.drop(name)
      await fleet.create(name, { members: [`n${i}`], colour: `c${i % 3}` })
      break
    case 4:
      await fleet.kube.request('DELETE', `${fleet.path('services')}/g-${name}`)
      break
    default:
      await fleet.kube.request('PATCH', `${fleet.path('deployments')}/g-${name}`, {
        spec: { replicas: 0, paused: i % 2 === 0, revisionHistoryLimit: 3 },
      })
  }
  trial.landed()
}

/** All is as wished, and nothing is written any more. */
async function judgeRest(trial: Trial, fleet: ToyFleet, names: readonly string[]): Promise<void> {
  const isRight = async () => (await wrongColours(fleet.kube, fleet.namespace)).length === 0
  await Promise.all(names.map(name => fleet.settled(name, 240_000)))
  await waitUntil(isRight, { what: 'the shared objects have their parents as owners', limitMs: 60_000 })
  await systemClock.sleep(2_000)
  const before = fleet.writes().length
  await systemClock.sleep(quietMs)
  const more = fleet.writes().length - before
  trial.figure('writes', before)
  trial.figure('writesAtRest', more)
  if (more > 0) trial.violation(`${more} writes at rest in ${quietMs} ms`)
}

async function randomEdits(trial: Trial): Promise<void> {
  const fleet = await startFleet(trial)
  const names = namesOf(parents)
  trial.figure('parents', parents)
  await createAll(fleet, names)
  const editor = async (index: number) => {
    const own = names.filter((_, i) => i % editors === index)
    for (let i = index; i < parents * 4; i += editors) await editAtRandom(trial, fleet, own, i)
  }
  await Promise.all(Array.from({ length: editors }, (_, index) => editor(index)))
  await judgeRest(trial, fleet, names)
}

/** @param most writes of one release for one parent in one pause */
async function rivalReleases(trial: Trial, flavour: string, most: number): Promise<void> {
  const rivals = isWhole ? rivalsDefaults : undefined
  const fleet = await startFleet(trial, { replicas: 2, rivals })
  const { pauseMs } = fleet.rivals
  const names = namesOf(isWhole ? parents : 3)
  await createAll(fleet, names)
  await Promise.all(names.map(name => fleet.settled(name, 120_000)))
  trial.injected(names.length)
  await fleet.add('other', flavour)
  const areContended = async () => {
    const gadgets = await fleet.kube.list(fleet.path('gadgets'))
    return gadgets.every(({ status }) => (status as { phase?: string } | undefined)?.phase === 'Contended')
  }
  await waitUntil(areContended, { what: 'all are contended', limitMs: 180_000 })
  trial.landed(names.length)
  const before = fleet.writes().length
  await systemClock.sleep(3 * pauseMs)
  const perParent = (fleet.writes().length - before) / names.length
  trial.figure('writesPerParentIn3Pauses', Number(perParent.toFixed(2)))
  // One pause may begin before.
  if (perParent > 4 * 2 * most) trial.violation(`they fight: ${perParent} writes for each parent in 3 pauses`)
  await fleet.remove('other')
  await judgeRest(trial, fleet, names)
  const left = (await fleet.kube.list(fleet.path('configmaps'))).filter(({ metadata }) => /^g-/.test(metadata.name))
  if (left.length > 0) trial.violation(`${left.length} objects of the other release are left`)
}

/** Each release changes the object once in a pause, and its status twice at most. */
const twoReleases = (trial: Trial) => rivalReleases(trial, 'b', 3)

/** Each release makes the object that the other does not want, and removes the other's. */
const twoSetsOfObjects = (trial: Trial) => rivalReleases(trial, otherObjects, 4)

/** Takes a right away, and measures for how long it stays. */
const revoke = (trial: Trial, fleet: ToyFleet, name: string, members: readonly string[]) =>
  untilRevoked(trial, fleet, name, () => fleet.edit(name, { members }))

/** Rights of the former parent are no rights of the next one, even if both name the same people. */
const remake = (trial: Trial, fleet: ToyFleet, name: string, members: readonly string[]) =>
  untilRevoked(trial, fleet, name, async () => {
    await fleet.drop(name)
    await fleet.create(name, { members })
  })

async function untilRevoked(trial: Trial, fleet: ToyFleet, name: string, act: () => Promise<unknown>): Promise<void> {
  trial.injected()
  await act()
  const begunMs = performance.now()
  while (excess(await fleet.read(name))) await systemClock.sleep(10)
  const ms = performance.now() - begunMs
  trial.took(ms)
  trial.landed()
  if (ms > revokedLimitMs) trial.violation(`the revocation took ${Math.round(ms)} ms`)
}

async function revocationPasses(trial: Trial): Promise<void> {
  const fleet = await startFleet(trial)
  await fleet.create('old', { members: ['ada', 'eve', 'bob'] })
  await fleet.settled('old')
  const names = Array.from({ length: crowd }, (_, i) => `new-${i}`)
  await Promise.all(names.map((name, i) => fleet.create(name, { colour: `c${i % 100}` })))
  const countMade = async () => (await fleet.kube.list(fleet.path('rolebindings'))).length - 1
  // The requests that made the crowd are over then, and its queue is worked on.
  await waitUntil(async () => (await countMade()) > 0, { what: 'the first of the crowd', limitMs: 60_000 })
  await revoke(trial, fleet, 'old', ['ada', 'bob'])
  await revoke(trial, fleet, 'old', ['ada'])
  await remake(trial, fleet, 'old', ['ada'])
  const made = await countMade()
  trial.figure('madeMeanwhile', made)
  if (made >= crowd) trial.violation('the queue was empty before the revocation')
}

/** Redis is halted, then a replica that holds leases is. Neither delays a revocation, and the first delays nothing. */
async function silentRedis(trial: Trial): Promise<void> {
  const fleet = await startFleet(trial)
  await fleet.create('old', { members: ['ada', 'eve', 'bob'] })
  await fleet.settled('old')
  await fleet.redis.pause()
  await revoke(trial, fleet, 'old', ['ada', 'bob'])
  await fleet.create('new')
  await fleet.settled('new', 5_000)
  await fleet.redis.resume()
  const key = `${fleet.namespace}/old`
  const arm = fleet.failpoints.arm('reconcile.gadget.change.Deployment.before-send', 'stop', { user: key })
  await fleet.edit('old', { image: 'app:2' })
  const { replica } = await arm.landed()
  await revoke(trial, fleet, 'old', ['ada'])
  fleet.signal(replica, 'SIGCONT')
  await fleet.settled('old')
}

async function othersObjects(trial: Trial): Promise<void> {
  const fleet = await startFleet(trial, { replicas: 1 })
  const group = 'rbac.authorization.k8s.io'
  const { apiVersion, kind, metadata: other } = await fleet.create('another')
  const owners = [[], [{ apiVersion, kind, name: other.name, uid: other.uid! }]]
  for (const [i, ownerReferences] of owners.entries()) {
    for (const isEarly of [true, false]) {
      trial.injected()
      const name = `decoy-${i}-${isEarly}`
      const metadata = { name: `g-${name}`, namespace: fleet.namespace, ownerReferences }
      const roleRef = { apiGroup: group, kind: 'ClusterRole', name: 'view' }
      const plant = () => fleet.kube.create({ apiVersion: `${group}/v1`, kind: 'RoleBinding', metadata, roleRef })
      const key = `${fleet.namespace}/${name}`
      const point = 'reconcile.gadget.create.RoleBinding.before-send'
      const arm = isEarly ? undefined : fleet.failpoints.arm(point, 'hold', { user: key })
      const early = isEarly ? await plant() : undefined
      await fleet.create(name)
      await arm?.landed()
      const planted = early ?? (await plant())
      arm?.release()
      const phase = async () => (await fleet.read(name)).parent?.status?.phase
      const isTold = async () => ['Conflict', 'Ready'].includes(await phase())
      await waitUntil(isTold, { what: 'a status', limitMs: 20_000 })
      trial.landed()
      const { binding } = await fleet.read(name)
      const isUntouched = binding?.metadata.resourceVersion === planted.metadata.resourceVersion
      if (!isUntouched) trial.violation(`${name} was touched`)
      if ((await phase()) !== 'Conflict') trial.violation(`${name} is not told`)
    }
  }
}

/** Parents whose objects the server refuses. They are told why, cost little, and delay nobody. */
async function hostileParents(trial: Trial): Promise<void> {
  const fleet = await startFleet(trial, { replicas: 2 })
  const hostile: Readonly<Record<string, Partial<GadgetSpec>>> = {
    ['long-name-'.padEnd(253, 'x')]: {},
    'no-image': { image: '' },
    'large-image': { image: 'x'.repeat(400_000) },
    'many-members': { members: Array.from({ length: 20_000 }, (_, i) => `m${i}`) },
    'no-name-of-an-object': { colour: '../../kube-system', members: ['__proto__', 'system:masters', ''] },
  }
  const names = Object.keys(hostile)
  trial.injected(names.length)
  await Promise.all(names.map(name => fleet.create(name, hostile[name])))
  await fleet.create('good')
  const begunMs = performance.now()
  await fleet.settled('good', 10_000)
  trial.took(performance.now() - begunMs)
  for (const name of names) {
    const status = async () => (await fleet.read(name)).parent?.status ?? {}
    const isTold = async () => ['Failed', 'Ready'].includes((await status()).phase)
    await waitUntil(isTold, { what: `${name.slice(0, 20)} is told`, limitMs: 20_000 })
    const { phase, message } = await status()
    trial.figure(name.slice(0, 20), phase)
    if (message.length > 1_000) trial.violation(`${name}: ${message.length} characters`)
    trial.landed()
  }
  const before = fleet.writes().length
  await systemClock.sleep(10_000)
  const more = fleet.writes().length - before
  trial.figure('writesIn10s', more)
  // Each replica tries each again after 1, 2, 4 and 8 s: the object, and one of a colour.
  if (more > 2 * 4 * 2 * names.length) trial.violation(`${more} writes in 10 s for parents that are refused`)
  await revoke(trial, fleet, 'good', [])
}

attack('N4 random edits of declarations', randomEdits, { limitMs: 900_000 })
attack('N4 two releases with different wishes', twoReleases, { limitMs: 900_000 })
attack('N4 two releases that want different objects', twoSetsOfObjects, { limitMs: 900_000 })
attack('N2 a revocation passes a crowd of creations', revocationPasses)
attack('N2 a revocation without Redis, or without the holder of the lease', silentRedis)
attack('N5 objects of others under wanted names', othersObjects)
attack('N5 parents whose objects are refused', hostileParents)
