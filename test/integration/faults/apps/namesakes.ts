/** G6: a stranger takes the name of an app's object just before its creation. It is not touched. */
import { attack } from '../../../kit/attack/attack.ts'
import { eventually } from '../../../kit/cluster/world.ts'
import { isWhole } from '../points.ts'
import { appFleet } from './shared.ts'

const podSpec = { containers: [{ name: 'x', image: 'x' }] }
const template = { metadata: { labels: { app: 'x' } }, spec: podSpec }
const planted = {
  Deployment: ['/apis/apps/v1', 'deployments', { replicas: 0, selector: { matchLabels: { app: 'x' } }, template }],
  Service: ['/api/v1', 'services', { ports: [{ port: 1 }] }],
  NetworkPolicy: ['/apis/networking.k8s.io/v1', 'networkpolicies', { podSelector: { matchLabels: { app: 'x' } } }],
} as const
type Kind = keyof typeof planted

attack('apps G6 namesakes just before a creation', async trial => {
  const fleet = await appFleet()
  const kinds: readonly Kind[] = isWhole ? ['Deployment', 'Service', 'NetworkPolicy'] : ['Service']
  for (const kind of kinds) {
    const [root, plural, spec] = planted[kind]
    const id = `named-${kind.toLowerCase()}`
    const name = kind === 'NetworkPolicy' ? `app-${id}-group` : `app-${id}`
    const path = `${root}/namespaces/${fleet.of('a')}/${plural}`
    trial.injected()
    const user = `${fleet.of('a')}/${id}`
    const arm = fleet.failpoints.arm(`reconcile.app.create.${kind}.before-send`, 'stop', { user })
    await fleet.make(id)
    const { replica } = await arm.landed()
    // The other replica may have been the first.
    const answer = await fleet.kube.request('POST', path, { metadata: { name }, spec })
    arm.release()
    fleet.replicas.find(each => each.name === replica)!.kill('SIGCONT')
    trial.landed()
    if (answer.status !== 201) continue
    const isChanged = async () => {
      const { metadata, spec: now } = await fleet.must('GET', `${path}/${name}`)
      const isSame = metadata.uid === answer.body.metadata.uid && metadata.ownerReferences === undefined
      return !isSame || JSON.stringify(now) !== JSON.stringify(answer.body.spec)
    }
    const isTold = async () => (await fleet.read(id)).status?.phase === 'Error'
    await eventually(`${id} is told`, async () => (await isChanged()) || (await isTold()), 60_000)
    if (await isChanged()) trial.violation(`the ${kind} was changed`)
  }
})
