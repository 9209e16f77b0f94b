/** The fleet of the attacks on apps, and how they see that an app is as declared. */
import { AppFleet } from '../../../kit/apps/fleet.ts'

let fleet: Promise<AppFleet> | undefined

/** Starts it for the first attack that asks. */
export function appFleet(): Promise<AppFleet> {
  fleet ??= AppFleet.start({ replicas: 2, people: { ann: ['a'], root: [] } })
  return fleet
}

export async function stopAppFleet(): Promise<void> {
  await (await fleet)?.stop()
  fleet = undefined
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
