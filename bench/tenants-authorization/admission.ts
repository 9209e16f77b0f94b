/** A usual LNamespace and the largest objects of tenants, admitted without the policies and with them. All requests are dry runs. */
import { waitUntil } from '../../dev/process/api-client.ts'
import { systemClock } from '../../src/base/clock.ts'
import { account, escaped, impersonate, lnamespace, TenantObjects, user } from '../../test/kit/tenants/objects.ts'
import { round } from '../measure/statistics.ts'
import { refusalOf, type Sent } from '../measure/tenant-policies.ts'
import { summary } from './questions.ts'
import type { Scene } from './scene.ts'

const most = 500
/** 256 characters, each third of which needs an escape. */
const longName = (index: number) => `p${index}@example.org${'=/%'.repeat(80)}`.padEnd(256, '.')
const people = Array.from({ length: most }, (_, index) => user(longName(index)))

/** By a person, and by the controller. */
function objects(): Readonly<Record<string, Sent>> {
  const tenant = new TenantObjects('large', 'none')
  const owners = Array.from({ length: most }, (_, index) => ({
    ...tenant.owner,
    name: `t${index}`,
    uid: `uid-${index}`,
  }))
  const self = `lns:self:${escaped(longName(0))}`
  const spec = { users: people, managers: people, sudoers: people, sudo: { eligible: people } }
  const labels = Object.fromEntries(Array.from({ length: 64 }, (_, index) => [`team.example.org/${index}`, 'x']))
  const few = [1, 2, 3, 4, 5].map(index => user(`p${index}@example.org`))
  return {
    usual: { by: 'ada', object: lnamespace('usual', { users: few, managers: few, sudoers: few }) },
    lnamespace: { by: 'ada', object: lnamespace('large', { ...spec, namespaceLabelOverrides: labels }) },
    sudoers: { by: account, object: tenant.binding('lns:sudo:large', people) },
    managers: { by: account, object: tenant.binding('lns:edit:large', people) },
    self_role: {
      by: account,
      object: tenant.role(self, [impersonate('users', longName(0))], { ownerReferences: owners }),
    },
    self_binding: { by: account, object: tenant.binding(self, [user(longName(0))], { ownerReferences: owners }) },
  }
}

/** @param apply puts the policies into force */
export async function admissionFigures(scene: Scene, apply: () => Promise<void>): Promise<object> {
  const sent = objects()
  await untilAdmitted(scene, sent)
  const without = await timesOf(scene, sent)
  await apply()
  const withPolicies = await timesOf(scene, sent)
  return Object.fromEntries(
    Object.keys(sent).map(name => {
      const [before, after] = [summary(without[name]!), summary(withPolicies[name]!)]
      return [name, { without_ms: before, with_ms: after, ratio: { p50: round(after.p50 / before.p50, 2) } }]
    }),
  )
}

async function timesOf(scene: Scene, sent: Readonly<Record<string, Sent>>): Promise<Record<string, number[]>> {
  const times: Record<string, number[]> = Object.fromEntries(Object.keys(sent).map(name => [name, []]))
  for (let turn = -5; turn < scene.options.admissions; turn++) {
    for (const [name, one] of Object.entries(sent)) {
      scene.signal.throwIfAborted()
      const begunMs = systemClock.monotonicMs()
      const refusal = await refusalOf(scene.kube, one)
      const tookMs = systemClock.monotonicMs() - begunMs
      if (refusal !== undefined) throw new Error(`${name}: ${refusal}`)
      if (turn >= 0) times[name]!.push(tookMs)
    }
  }
  return times
}

const limitMs = 30_000

/** Rights and definitions take a moment. */
const untilAdmitted = (scene: Scene, sent: Readonly<Record<string, Sent>>) =>
  waitUntil(
    async () =>
      (await Promise.all(Object.values(sent).map(one => refusalOf(scene.kube, one)))).every(each => each === undefined),
    { what: 'rights', limitMs, signal: scene.signal },
  )
