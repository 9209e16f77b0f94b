/** G5: an app is stopped and started again and again, and people edit its objects: one generation of the Deployment per change. */
import { systemClock } from '../../../../src/base/clock.ts'
import { attack } from '../../../kit/attack/attack.ts'
import { eventually } from '../../../kit/cluster/world.ts'
import { isWhole } from '../points.ts'
import { appFleet, deploymentOf } from './shared.ts'

attack(
  'apps G5 stops and starts',
  async trial => {
    const fleet = await appFleet()
    const times = isWhole ? 100 : 8
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

/** What somebody writes by hand into an object of an app. */
const edits = [
  ['Deployment', '', { spec: { replicas: 4 } }],
  ['Deployment', '', { spec: { template: { spec: { hostNetwork: true } } } }],
  ['Deployment', '', { metadata: { annotations: { 'skylab/last': '{}' } } }],
  ['NetworkPolicy', '-group', { spec: { ingress: [{}] } }],
  ['NetworkPolicy', '-proxy', { spec: { podSelector: { matchLabels: { app: 'x' } } } }],
  ['Service', '', { spec: { selector: { app: 'x' } } }],
] as const
const paths = {
  ...{ Deployment: '/apis/apps/v1/namespaces/NAMESPACE/deployments', Service: '/api/v1/namespaces/NAMESPACE/services' },
  NetworkPolicy: '/apis/networking.k8s.io/v1/namespaces/NAMESPACE/networkpolicies',
} as const

attack('apps G5 edits by hand', async trial => {
  const fleet = await appFleet()
  const rounds = isWhole ? 5 : 1
  // Each of an app of its own: whoever changes one object four times in a minute is a rival, who is not followed at once.
  await Promise.all(edits.map((_, index) => fleet.make(`edits-${index}`)))
  await Promise.all(edits.map((_, index) => fleet.phase(`edits-${index}`, 'Ready')))
  for (let round = 0; round < rounds; round += 1) {
    await Promise.all(edits.map((_, index) => strike(index)))
    if (round + 1 < rounds) await systemClock.sleep(restMs)
  }

  async function strike(index: number): Promise<void> {
    const [kind, end, patch] = edits[index]!
    const path = `${paths[kind].replace('NAMESPACE', fleet.of('a'))}/app-edits-${index}${end}`
    const spec = async () => JSON.stringify((await fleet.must('GET', path)).spec)
    const wished = await spec()
    trial.injected()
    await fleet.must('PATCH', path, patch)
    trial.landed()
    const begunMs = performance.now()
    await eventually(`${path} is as declared`, async () => (await spec()) === wished, 60_000)
    trial.took(performance.now() - begunMs)
  }
})

/** Three changes in a minute are no rival's. */
const restMs = 20_000
