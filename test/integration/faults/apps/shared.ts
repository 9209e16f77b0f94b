/** The fleet of the attacks on apps, and how they see that an app is as declared. */
import { TraceReceiver } from '../../../../dev/pictures/trace-receiver.ts'
import { AppFleet } from '../../../kit/apps/fleet.ts'

let fleet: Promise<AppFleet> | undefined
let receiver: Promise<TraceReceiver> | undefined

/** Starts it for the first attack that asks. */
export function appFleet(): Promise<AppFleet> {
  fleet ??= start()
  return fleet
}

async function start(): Promise<AppFleet> {
  const { endpoint } = await appTraces()
  return AppFleet.start({ replicas: 2, people: { ann: ['a'], root: [] }, more: { tracing: { endpoint } } })
}

/** Gets the traces of its replicas. */
export function appTraces(): Promise<TraceReceiver> {
  receiver ??= TraceReceiver.start()
  return receiver
}

export async function stopAppFleet(): Promise<void> {
  await (await fleet)?.stop()
  await (await receiver)?.close()
  fleet = undefined
  receiver = undefined
}

export const imageOf = (image: string) => ({
  spec: { podTemplate: { spec: { containers: [{ name: 'main', image, ports: [{ containerPort: 8080 }] }] } } },
})

interface Seen {
  readonly generation: number
  readonly image: string
  readonly replicas: number
}

/** What its Deployment runs; undefined without one. */
export async function deploymentOf(on: AppFleet, name: string): Promise<Seen | undefined> {
  const found = await on.child('Deployment', `app-${name}`)
  if (!found) return undefined
  const [{ image }] = found.spec.template.spec.containers
  return { generation: found.metadata.generation, image, replicas: found.spec.replicas }
}
