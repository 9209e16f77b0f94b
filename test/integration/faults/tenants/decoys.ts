/**
 * tenants N5: objects of others under all our names and labels stay as they are, by UID and version, and are named; no right is
 * given beside them.
 */
import type { KubeObject } from '../../../../src/base/domain.ts'
import { objectPath } from '../../../../src/kube/kinds.ts'
import { refOf } from '../../../../src/reconcile/plan.ts'
import { tenantParent } from '../../../../src/tenants/words.ts'
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { eventually } from '../../../kit/cluster/world.ts'
import { TenantObjects, user } from '../../../kit/tenants/objects.ts'
import type { TenantFleet } from '../../tenants/tenant-fleet.ts'
import { isWhole } from '../points.ts'
import { revokedLimitMs, rights } from './rights.ts'
import { everything, tenantFleet } from './shared.ts'

/** Whose a decoy is. */
type Owner = 'nobody' | 'another tenant'

interface Decoy {
  readonly what: string
  /** The object as we would make it, of a tenant and one of its sudoers. */
  readonly object: (like: TenantObjects, person: string) => KubeObject
  /** Planted when the Namespace of the tenant is there, before the write that wants the name. */
  readonly point?: string
}

const decoys: readonly Decoy[] = [
  { what: 'Namespace', object: like => like.namespace() },
  ...(['ResourceQuota', 'LimitRange', 'NetworkPolicy'] as const).map(kind => ({
    what: kind,
    object: (like: TenantObjects) => like.platform(kind),
    point: `create.${kind}`,
  })),
  { what: 'lns-developer', object: like => like.roleBinding('lns-developer', 'view', []), point: 'create.RoleBinding' },
  { what: 'lns-sudoer', object: like => like.roleBinding('lns-sudoer', 'view', []), point: 'create.RoleBinding' },
  ...['edit', 'sudo'].flatMap(which => [
    { what: `role ${which}`, object: (like: TenantObjects) => like.role(`lns:${which}:${like.name}`, []) },
    {
      what: `binding ${which}`,
      object: (like: TenantObjects) => like.binding(`lns:${which}:${like.name}`, [user('x')]),
    },
  ]),
  { what: 'role self', object: (like, person) => like.role(`lns:self:${person}`, []) },
  { what: 'binding self', object: (like, person) => like.binding(`lns:self:${person}`, [user('x')]) },
]

const few = new Set(['Namespace', 'LimitRange', 'lns-developer', 'role edit', 'binding self'])
const platform = { quota: { pods: '5' }, limits: { max: { cpu: '1' } } }

/** Plants a decoy, makes the tenant, and judges. */
async function strike(trial: Trial, fleet: TenantFleet, { what, object, point }: Decoy, owner: Owner, i: number) {
  trial.injected()
  const name = `${fleet.name}-decoy-${i}`
  const person = `ada-${name}`
  const like = new TenantObjects(name, '')
  const other = owner === 'nobody' ? undefined : await fleet.read(`${fleet.name}-others`)
  const mark = (made: KubeObject): KubeObject => {
    const { ownerReferences: _, ...metadata } = made.metadata
    const labels = { ...metadata.labels, 'lns.skylab/installation': fleet.name }
    const owners = other && [{ ...tenantParent, name: other.metadata.name, uid: other.metadata.uid }]
    return { ...made, metadata: { ...metadata, labels, ...(owners && { ownerReferences: owners }) } }
  }
  const decoy = mark(object(like, person))
  const plant = () => fleet.kube.create(decoy)
  const arm =
    point && fleet.failpoints.arm(`reconcile.tenant.${point}.before-send`, 'hold', { user: name, times: null })
  const early = arm ? undefined : await plant()
  await fleet.make({ ...everything([person]), platform }, name)
  if (arm) await arm.landed()
  const planted = early ?? (await plant())
  if (arm) {
    arm.disarm()
    arm.release()
  }
  await judge(trial, fleet, { what, owner, name, person, planted })
  await fleet.drop(name)
  await fleet.kube.request('DELETE', objectPath(refOf(planted)))
}

interface Planted {
  readonly what: string
  readonly owner: Owner
  /** Of the tenant, and of its one sudoer. */
  readonly name: string
  readonly person: string
  readonly planted: KubeObject
}

async function judge(trial: Trial, fleet: TenantFleet, { what, owner, name, person, planted }: Planted): Promise<void> {
  const isSelf = what.endsWith(' self')
  const isTold = async () =>
    conditionOf(await fleet.read(name), isSelf ? 'AccessReady' : 'Accepted') === (isSelf ? 'Waiting' : 'Conflict')
  await eventually(`${what} is named`, isTold, 10_000).catch(error => trial.violation(error.message))
  trial.landed()
  const found = (await fleet.kube.request('GET', objectPath(refOf(planted)))).body
  const { metadata } = found
  const isSameVersion = metadata?.resourceVersion === planted.metadata.resourceVersion
  // The cluster counts the use of a quota, and writes that into its status.
  const isSame = isSameVersion || (what === 'ResourceQuota' && contentOf(found) === contentOf(planted))
  if (!isSame || metadata?.uid !== planted.metadata.uid) trial.violation(`${what} of ${owner} was touched`)
  const has = () => (isSelf ? rights.self.may(fleet, name, person) : hasAny(fleet, name, person))
  const isNone = eventually('no right', async () => !(await has()), revokedLimitMs)
  await isNone.catch(() => trial.violation(`beside ${what} of ${owner} a right was given`))
}

const contentOf = ({ metadata, spec }: KubeObject): string =>
  JSON.stringify([metadata.labels, metadata.ownerReferences, metadata.annotations, spec])

/** A right of the tenant itself: that to impersonate himself is of another key, and gives nothing alone. */
async function hasAny(fleet: TenantFleet, name: string, person: string): Promise<boolean> {
  const own = [rights.use, rights.edit, rights.sudo]
  return (await Promise.all(own.map(({ may }) => may(fleet, name, person)))).some(Boolean)
}

// biome-ignore lint/suspicious/noExplicitAny: an LNamespace
const conditionOf = (found: any, of: string): string | undefined =>
  found?.status?.conditions?.find(({ type }: { type: string }) => type === of)?.reason

async function underOurNames(trial: Trial): Promise<void> {
  const fleet = await tenantFleet()
  await fleet.make({}, `${fleet.name}-others`)
  const chosen = decoys.filter(({ what }) => isWhole || few.has(what))
  // Every tenant may own what gives a person the right to impersonate himself.
  const cases = chosen.flatMap((decoy): [Decoy, Owner][] => [
    [decoy, 'nobody'],
    ...(isWhole && !decoy.what.endsWith(' self') ? ([[decoy, 'another tenant']] as [Decoy, Owner][]) : []),
  ])
  for (const [i, [decoy, owner]] of cases.entries()) await strike(trial, fleet, decoy, owner, i)
}

attack('tenants N5 objects of others under our names', underOurNames, { limitMs: 600_000 })
