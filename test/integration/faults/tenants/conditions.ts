/**
 * tenants N11: conditions are true at every moment, and every turn ends in them: replicas are killed at each act, and another
 * one ends what they began. The judges are the authorizer, and the log of the one that went on.
 */
import { systemClock } from '../../../../src/base/clock.ts'
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { eventually } from '../../../kit/cluster/world.ts'
import type { Mark } from '../../../kit/failpoints/arms.ts'
import { account } from '../../../kit/tenants/objects.ts'
import type { TenantFleet } from '../../tenants/tenant-fleet.ts'
import { isWhole } from '../points.ts'
import { differences } from './rights.ts'
import { everything, tenantFleet } from './shared.ts'

const endLimitMs = 30_000
/** What a replica had sent when it was killed has arrived by then; it begins anew after 2 s. */
const onWireMs = 500

/** The acts of a tenant that is made, and of one that is edited. */
const creating = [
  'Namespace',
  'ResourceQuota',
  'LimitRange',
  'NetworkPolicy',
  'ClusterRole',
  'RoleBinding',
  'ClusterRoleBinding',
]
const acts = [
  ...creating.map(kind => `create.${kind}`),
  ...['change.Namespace', 'change.ResourceQuota', 'change.RoleBinding', 'change.ClusterRoleBinding'],
  ...['remove.LimitRange', 'remove.RoleBinding', 'remove.ClusterRole', 'report.LNamespace'],
]
const few = ['change.RoleBinding.before-send']
const points = isWhole ? acts.flatMap(act => [`${act}.before-send`, `${act}.after-send`]) : few

const platform = { quota: { pods: '5' }, limits: { max: { cpu: '1' } } }
const stricter = { podSecurity: 'restricted', quota: { pods: '6' }, limits: null }

const readyOf = ({ status }: { status?: { conditions?: readonly Condition[] } }) =>
  status?.conditions?.find(({ type }) => type === 'Ready')

interface Condition {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly observedGeneration: number
}

/** Watches whether `Ready` is ever said of this generation while something is not so. @returns what was said too early */
function watchTruth(fleet: TenantFleet, name: string, people: readonly string[]) {
  const stopping = new AbortController()
  const watching = (async () => {
    while (!stopping.signal.aborted) {
      const found = await fleet.read(name)
      const ready = found && readyOf(found)
      if (ready?.status === 'True' && ready.observedGeneration === found.metadata.generation) {
        const { wrong } = await differences(fleet, name, people)
        const now = await fleet.read(name)
        if (wrong !== undefined && now?.metadata.generation === found.metadata.generation) return wrong
      }
      await systemClock.sleep(20)
    }
    return undefined
  })()
  return { watching, stop: () => stopping.abort() }
}

async function strike(trial: Trial, fleet: TenantFleet, point: string, i: number): Promise<string> {
  trial.injected()
  const name = `${fleet.name}-truth-${i}`
  const [ada, eve] = [`ada-${name}`, `eve-${name}`]
  const isCreation = point.startsWith('create.')
  if (!isCreation) {
    await fleet.make({ ...everything([ada]), platform }, name)
    await fleet.says(name, 'Ready', 'Ready')
  }
  const arm = fleet.failpoints.arm(`reconcile.tenant.${point}`, 'kill', { user: name })
  const { watching, stop } = watchTruth(fleet, name, [ada, eve])
  if (isCreation) await fleet.make({ ...everything([ada]), platform }, name)
  else await fleet.edit(name, { ...everything(/^remove\.[RC]/.test(point) ? [] : [ada, eve]), platform: stricter })
  const mark = await arm.landed()
  const begunMs = performance.now()
  await fleet.says(name, 'Ready', 'Ready', endLimitMs)
  trial.took(performance.now() - begunMs)
  const isRight = async () => (await differences(fleet, name, [ada, eve])).wrong === undefined
  await eventually(`the rights of ${name}`, isRight, 2_000).catch(error =>
    trial.violation(`${point}: ${error.message}`),
  )
  stop()
  const early = await watching
  if (early !== undefined) trial.violation(`${point}: Ready was said while ${early}`)
  const by = await isResumed(trial, fleet, name, point, mark)
  await fleet.ready()
  await fleet.drop(name)
  return by
}

/** Another replica has written since, or the same one in its next life; if all was written, there was nothing to resume. */
async function isResumed(trial: Trial, fleet: TenantFleet, name: string, point: string, { replica, atMs }: Mark) {
  const since = (await fleet.audit.all()).filter(
    each => each.sender === account && each.receivedAtMs > atMs && each.userAgent.includes(`tenant=${name}`),
  )
  const later = since.filter(each => each.replica !== replica || each.receivedAtMs > atMs + onWireMs)
  if (later.length > 0 || point === 'report.LNamespace.after-send') trial.landed()
  else trial.violation(`${point}: nobody went on`)
  return later[0]?.replica === replica ? 'its next life' : 'another'
}

async function killsAtEachAct(trial: Trial): Promise<void> {
  const fleet = await tenantFleet()
  const resumed = new Map<string, number>()
  for (const [i, point] of points.entries()) {
    const by = await strike(trial, fleet, point, i)
    resumed.set(by, (resumed.get(by) ?? 0) + 1)
  }
  trial.figure('resumedBy', Object.fromEntries(resumed))
}

attack('tenants N11 kills at each act', killsAtEachAct, { limitMs: 900_000 })
