/**
 * tenants N6: who is sudoer of any tenant may impersonate himself, and nobody else: by our hand where an owner is gone or no
 * longer lists him, and by the garbage collector's while no replica runs. The judges are the authorizer and the audit log.
 */
import { systemClock } from '../../../../src/base/clock.ts'
import { selfName } from '../../../../src/tenants/names.ts'
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { eventually } from '../../../kit/cluster/world.ts'
import { account } from '../../../kit/tenants/objects.ts'
import type { TenantFleet } from '../../tenants/tenant-fleet.ts'
import { isWhole } from '../points.ts'
import { collector } from '../stale.ts'
import { revokedLimitMs, rights } from './rights.ts'
import { everything, signalCollector, tenantFleet } from './shared.ts'

/** The garbage collector learns of a new kind of owner within half a minute. */
const collectLimitMs = 90_000
const watchMs = 500

const clusterRoles = '/apis/rbac.authorization.k8s.io/v1/clusterroles'

interface Story {
  readonly fleet: TenantFleet
  readonly person: string
  readonly tenants: readonly string[]
}

async function story(fleet: TenantFleet, name: string): Promise<Story> {
  const person = `sue-${name}-${fleet.name}`
  const tenants = [1, 2].map(i => `${fleet.name}-${name}-${i}`)
  for (const tenant of tenants) await fleet.make(everything([person]), tenant)
  for (const tenant of tenants) await fleet.says(tenant, 'Ready', 'Ready')
  return { fleet, person, tenants }
}

const may = ({ fleet, person }: Story) => rights.self.may(fleet, '', person)

/** The right of somebody whom another tenant still lists never ends. */
async function stays(trial: Trial, one: Story, what: string): Promise<void> {
  const { fleet, person, tenants } = one
  const endMs = performance.now() + watchMs
  while (performance.now() < endMs) {
    if (!(await may(one))) return trial.violation(`${what}: the right of a listed sudoer is missing`)
    await systemClock.sleep(30)
  }
  const owners = async () =>
    (await fleet.kube.request('GET', `${clusterRoles}/${selfName(person)}`)).body.metadata?.ownerReferences ?? []
  const isLast = async () => (await owners()).map(({ name }: { name: string }) => name).join() === tenants[1]
  await eventually(`${what}: the last owner`, isLast).catch(error => trial.violation(error.message))
  trial.landed()
}

async function goes(trial: Trial, one: Story, what: string, limitMs: number): Promise<void> {
  const begunMs = performance.now()
  await eventually(`${what}: the end of the right`, async () => !(await may(one)), limitMs).catch(error =>
    trial.violation(error.message),
  )
  if (limitMs === revokedLimitMs) trial.took(performance.now() - begunMs)
}

/** Who removed the role and its binding. */
async function removers({ fleet, person }: Story): Promise<string[]> {
  const all = await fleet.audit.all()
  const isRemoval = ({ verb, code, name, resource }: (typeof all)[number]) =>
    verb === 'delete' && code < 300 && name === selfName(person) && resource.startsWith('clusterrole')
  return all.filter(isRemoval).map(({ sender }) => sender)
}

/** They are deleted by one of the two alone. */
async function isRemovedBy(trial: Trial, one: Story, what: string, sender: string): Promise<void> {
  const isGone = async () => (await removers(one)).length >= 2
  await eventually(`${what}: role and binding are removed`, isGone, collectLimitMs)
  const found = [...new Set(await removers(one))]
  if (found.join() !== sender) trial.violation(`${what}: removed by ${found}`)
  trial.landed()
}

/** An LNamespace lists him no more: no owner is gone, so the garbage collector has nothing to do. */
async function unlisted(trial: Trial): Promise<void> {
  const fleet = await tenantFleet()
  const one = await story(fleet, 'unlisted')
  trial.injected(2)
  await fleet.edit(one.tenants[0]!, { sudoers: [] })
  await stays(trial, one, 'one lists him no more')
  await fleet.edit(one.tenants[1]!, { sudoers: [] })
  await goes(trial, one, 'none lists him', revokedLimitMs)
  await isRemovedBy(trial, one, 'none lists him', account)
}

/** All replicas are stopped: the garbage collector alone removes what has no owner. */
async function withoutReplicas(trial: Trial): Promise<void> {
  const fleet = await tenantFleet()
  const one = await story(fleet, 'alone')
  trial.injected(2)
  await fleet.drop(one.tenants[0]!)
  await stays(trial, one, 'one of two is gone')
  for (const replica of fleet.replicas) replica.kill('SIGSTOP')
  try {
    await fleet.drop(one.tenants[1]!)
    await goes(trial, one, 'both are gone', collectLimitMs)
    await isRemovedBy(trial, one, 'both are gone', collector)
  } finally {
    for (const replica of fleet.replicas) replica.kill('SIGCONT')
  }
}

/** The controller manager is stopped: nobody else removes anything. It would delay all other tests. */
async function withoutCollector(trial: Trial): Promise<void> {
  const fleet = await tenantFleet()
  const one = await story(fleet, 'uncollected')
  trial.injected(2)
  signalCollector('SIGSTOP')
  try {
    await fleet.drop(one.tenants[0]!)
    await stays(trial, one, 'one of two is gone, uncollected')
    await fleet.drop(one.tenants[1]!)
    await goes(trial, one, 'both are gone, uncollected', revokedLimitMs)
    await isRemovedBy(trial, one, 'both are gone, uncollected', account)
  } finally {
    signalCollector('SIGCONT')
  }
}

attack('tenants N6 a sudoer whom nobody lists any more', unlisted)
attack('tenants N6 owners that are gone while no replica runs', withoutReplicas)
if (isWhole) attack('tenants N6 owners that are gone while nothing collects', withoutCollector)
