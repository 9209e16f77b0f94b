/** N5: others' objects under wanted names, and parents whose objects are refused. */
import { waitUntil } from '../../../dev/process/api-client.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { attack, type Trial } from '../../kit/attack/attack.ts'
import type { SampleSpec } from '../../kit/reconcile/sample.ts'
import { revoke, startFleet } from '../../kit/reconcile/sample-attacks.ts'

async function othersObjects(trial: Trial): Promise<void> {
  const fleet = await startFleet(trial, { replicas: 1 })
  const group = 'rbac.authorization.k8s.io'
  const { apiVersion, kind, metadata: other } = await fleet.create('another')
  const owners = [[], [{ apiVersion, kind, name: other.name, uid: other.uid! }]]
  for (const [i, ownerReferences] of owners.entries()) {
    for (const isEarly of [true, false]) {
      trial.injected()
      const name = `decoy-${i}-${isEarly}`
      const metadata = { name: `s-${name}`, namespace: fleet.namespace, ownerReferences }
      const roleRef = { apiGroup: group, kind: 'ClusterRole', name: 'view' }
      const plant = () => fleet.kube.create({ apiVersion: `${group}/v1`, kind: 'RoleBinding', metadata, roleRef })
      const key = `${fleet.namespace}/${name}`
      const point = 'reconcile.sample.create.RoleBinding.before-send'
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
  const hostile: Readonly<Record<string, Partial<SampleSpec>>> = {
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

attack('N5 objects of others under wanted names', othersObjects)
attack('N5 parents whose objects are refused', hostileParents)
