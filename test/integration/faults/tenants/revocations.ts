/**
 * tenants N2: a removal, and the end of a grant, are effective within a second: under a crowd of creations, without Redis, and
 * while the holder of the lease is stopped. The judge is the authorizer: yes before, no after.
 */
import { waitUntil } from '../../../../dev/process/api-client.ts'
import { systemClock } from '../../../../src/base/clock.ts'
import { objectPath } from '../../../../src/kube/kinds.ts'
import { tenantParent } from '../../../../src/tenants/words.ts'
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { eventually } from '../../../kit/cluster/world.ts'
import { account } from '../../../kit/tenants/objects.ts'
import type { TenantFleet } from '../../tenants/tenant-fleet.ts'
import { isWhole } from '../points.ts'
import { differences, revokedLimitMs, rights } from './rights.ts'
import { everything, tenantFleet, user } from './shared.ts'

const crowd = isWhole ? 1_000 : 120
/** Tenants that may be begun before the replicas have heard of a removal. */
const unheard = 20
const roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles'
/** Longer than any right may stay: what lasts longer counts as never ending. */
const givenUpMs = 15_000

/**
 * Counts a blow: a right that was there and is gone.
 * @param sinceMs when it should have ended
 * @param hasWaited whether others came first, where a time says little. Default: the time decides
 */
async function ends(
  trial: Trial,
  what: string,
  has: () => Promise<boolean>,
  sinceMs: number,
  hasWaited: () => Promise<boolean> = async () => true,
): Promise<void> {
  for (;;) {
    const isOver = !(await has())
    const ms = performance.now() - sinceMs
    if (!isOver && ms < givenUpMs) {
      await systemClock.sleep(10)
      continue
    }
    trial.took(ms)
    trial.landed()
    if (ms > revokedLimitMs && (await hasWaited())) trial.violation(`${what} took ${Math.round(ms)} ms`)
    return
  }
}

/** Takes everything from one of the people of a tenant. */
async function removal(
  trial: Trial,
  fleet: TenantFleet,
  name: string,
  stay: readonly string[],
  goes: string,
  hasWaited?: () => Promise<boolean>,
) {
  trial.injected()
  const everybody = [...stay, goes]
  const { wrong } = await differences(fleet, name, everybody)
  if (wrong !== undefined) throw new Error(`before the removal ${wrong}`)
  await fleet.edit(name, everything(stay))
  const begunMs = performance.now()
  const has = async () => (await differences(fleet, name, everybody)).excess !== undefined
  await ends(trial, 'a removal', has, begunMs, hasWaited)
}

/** A grant of this account, as REST gives it. */
async function grant(trial: Trial, fleet: TenantFleet, name: string, person: string, seconds: number): Promise<void> {
  trial.injected()
  const may = () => rights.sudo.may(fleet, name, person)
  const untilMs = Date.now() + seconds * 1000
  const status = {
    grants: [{ id: `g-${untilMs}`, user: person, until: new Date(untilMs).toISOString(), reason: 'an attack' }],
  }
  const answer = await fleet.account.request('PATCH', `${objectPath({ ...tenantParent, name })}/status`, { status })
  if (answer.status !== 200) throw new Error(`the grant: ${answer.status} ${answer.body.message}`)
  await waitUntil(may, { what: 'a grant', limitMs: seconds * 1000 })
  const leftMs = untilMs - Date.now()
  await systemClock.sleep(Math.max(0, leftMs - 50))
  if (!(await may())) trial.violation('a grant ended early')
  await ends(trial, 'the end of a grant', may, performance.now() + (untilMs - Date.now()))
}

async function made(fleet: TenantFleet, story: string, people: readonly string[], more: object = {}): Promise<string> {
  const name = await fleet.make({ ...everything(people), ...more }, `${fleet.name}-${story}`)
  await fleet.says(name, 'Ready', 'Ready')
  return name
}

const peopleOf = (fleet: TenantFleet, story: string) =>
  ['ada', 'bob', 'eve', 'ron'].map(person => `${person}-${story}-${fleet.name}`) as [string, string, string, string]

/** The number of these tenants that were begun after a time, and have what is given last. */
async function begunAndMade(fleet: TenantFleet, names: readonly string[], fromMs: number): Promise<number> {
  const made = (await fleet.audit.all()).filter(({ sender, verb, code, receivedAtMs }) => {
    return sender === account && verb === 'create' && code === 201 && receivedAtMs > fromMs
  })
  const ofNamespace = (resource: string) =>
    new Set(made.filter(each => each.resource === resource).map(({ namespace }) => namespace))
  const [begun, given] = [ofNamespace('namespaces'), ofNamespace('rolebindings')]
  return names.filter(name => begun.has(name) && given.has(name)).length
}

async function passesCrowd(trial: Trial): Promise<void> {
  const fleet = await tenantFleet()
  const [ada, bob, eve, ron] = peopleOf(fleet, 'crowd')
  const old = await made(fleet, 'old', [ada, bob, eve], { sudo: { eligible: [user(ron)] } })
  const names = Array.from({ length: crowd }, (_, i) => `${fleet.name}-crowd-${i}`)
  const making = (async () => {
    for (let i = 0; i < names.length; i += 20)
      await Promise.all(names.slice(i, i + 20).map(name => fleet.make(everything([`ann-${name}`]), name)))
  })()
  const countMade = async () =>
    (await fleet.kube.list(roles)).filter(({ metadata }) => metadata.name.startsWith(`lns:edit:${fleet.name}-crowd-`))
      .length
  await making
  await waitUntil(async () => (await countMade()) > 0, { what: 'the first of the crowd', limitMs: 60_000 })
  // In a small run other tests share the machine, and all requests may be slow: the order says more than the time.
  const sinceNow = () => {
    const nowMs = Date.now()
    return async () => isWhole || (await begunAndMade(fleet, names, nowMs)) > unheard
  }
  await removal(trial, fleet, old, [ada, bob], eve, sinceNow())
  await removal(trial, fleet, old, [ada], bob, sinceNow())
  if (isWhole) await grant(trial, fleet, old, ron, 5)
  const count = await countMade()
  trial.figure('madeMeanwhile', count)
  if (count >= crowd) trial.violation('the queue was empty before the removal')
  await Promise.all(names.map(name => fleet.drop(name)))
  // The ends of so many rights are urgent too: the next removal would wait behind them.
  const isOver = async () =>
    (await fleet.kube.list(roles)).every(
      ({ metadata }) => !metadata.name.startsWith(`lns:self:ann-${fleet.name}-crowd-`),
    )
  await waitUntil(isOver, { what: 'the end of the crowd', limitMs: 120_000 })
}

async function withoutRedis(trial: Trial): Promise<void> {
  const fleet = await tenantFleet()
  const [ada, bob, eve, ron] = peopleOf(fleet, 'silent')
  const name = await made(fleet, 'silent', [ada, bob, eve], { sudo: { eligible: [user(ron)] } })
  await fleet.redis.pause()
  try {
    await removal(trial, fleet, name, [ada, bob], eve)
    await grant(trial, fleet, name, ron, isWhole ? 4 : 2)
  } finally {
    await fleet.redis.resume()
  }
  await eventually('a status', async () => (await fleet.read(name)).status.grants === undefined)
}

/** A replica is stopped as it gives, so it has the lease; meanwhile others take. */
async function holderStopped(trial: Trial): Promise<void> {
  const fleet = await tenantFleet()
  const [ada, bob, eve, ron] = peopleOf(fleet, 'held')
  const name = await made(fleet, 'held', [ada, bob], { sudo: { eligible: [user(ron)] } })
  const arm = fleet.failpoints.arm('reconcile.tenant.change.RoleBinding.before-send', 'stop', { user: name })
  await fleet.edit(name, { users: [ada, bob, eve].map(user) })
  const { replica } = await arm.landed()
  try {
    await removal(trial, fleet, name, [ada], bob)
    if (isWhole) await grant(trial, fleet, name, ron, 6)
  } finally {
    fleet.replica(replica).kill('SIGCONT')
  }
  await fleet.says(name, 'Ready', 'Ready')
}

attack('tenants N2 a removal passes a crowd of creations', passesCrowd, { limitMs: 600_000 })
attack('tenants N2 a removal without Redis', withoutRedis)
attack('tenants N2 a removal while the holder of the lease is stopped', holderStopped)
