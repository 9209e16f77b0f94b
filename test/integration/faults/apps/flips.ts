/** G5: an app is stopped and started again and again, and people edit its objects: one generation of the Deployment per change. */
import { attack } from '../../../kit/attack/attack.ts'
import { eventually } from '../../../kit/cluster/world.ts'
import { isWhole } from '../points.ts'
import { appFleet, deploymentOf } from './shared.ts'

attack(
  'apps G5 stops and starts',
  async trial => {
    const fleet = await appFleet()
    const times = isWhole ? 100 : 12
    await fleet.make('flips')
    await fleet.phase('flips', 'Ready')
    const before = (await deploymentOf(fleet, 'flips'))!
    for (let index = 1; index <= times; index += 1) {
      trial.injected()
      await fleet.edit('flips', { spec: { stop: index % 2 === 1 } })
      // Some of them before the last one is done, and some after.
      if (trial.random() < 0.5) await fleet.phase('flips', index % 2 === 1 ? 'Stopped' : 'Ready', 'a', 60_000)
      trial.landed()
    }
    await fleet.phase('flips', times % 2 === 1 ? 'Stopped' : 'Ready', 'a', 60_000)
    const after = (await deploymentOf(fleet, 'flips'))!
    const made = after.generation - before.generation
    trial.figure('generations', made)
    if (made > times) trial.violation(`${made} generations of the Deployment for ${times} changes`)
    const { metadata } = await fleet.read('flips')
    if (metadata.generation !== times + 1) trial.violation(`generation ${metadata.generation} of the app`)
  },
  { limitMs: 600_000 },
)

/** What somebody writes into objects of an app by hand. */
const edits = [
  ['deployments/app-edits', 'apps/v1', { spec: { replicas: 4 } }],
  ['deployments/app-edits', 'apps/v1', { spec: { template: { spec: { hostNetwork: true } } } }],
  ['deployments/app-edits', 'apps/v1', { metadata: { annotations: { 'skylab/last': '{}' } } }],
  ['networkpolicies/app-edits-group', 'networking.k8s.io/v1', { spec: { ingress: [{}] } }],
  ['networkpolicies/app-edits-proxy', 'networking.k8s.io/v1', { spec: { podSelector: { matchLabels: { app: 'x' } } } }],
  ['services/app-edits', 'v1', { spec: { selector: { app: 'x' } } }],
] as const

attack('apps G5 edits by hand', async trial => {
  const fleet = await appFleet()
  await fleet.make('edits')
  await fleet.phase('edits', 'Ready')
  const paths = [...new Set(edits.map(([path, version]) => pathOf(path, version)))]
  const specs = async () =>
    JSON.stringify(await Promise.all(paths.map(async path => (await fleet.must('GET', path)).spec)))
  const wished = await specs()
  for (const [path, version, patch] of isWhole ? [...edits, ...edits, ...edits] : edits) {
    trial.injected()
    await fleet.must('PATCH', pathOf(path, version), patch)
    trial.landed()
    const begunMs = performance.now()
    await eventually(`${path} is as declared`, async () => (await specs()) === wished, 60_000)
    trial.took(performance.now() - begunMs)
  }

  function pathOf(path: string, version: string): string {
    const [plural, name] = path.split('/')
    const root = version === 'v1' ? '/api/v1' : `/apis/${version}`
    return `${root}/namespaces/${fleet.of('a')}/${plural}/${name}`
  }
})
