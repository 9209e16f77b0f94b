/** Labs that people ask a JupyterHub for, and reach through its proxy. */
import { Jupyter } from '../../test/kit/idle/jupyter.ts'
import { asked } from '../demo/lab.ts'
import { type Platform, withPlatform } from '../hub/platform.ts'
import { HubVisitor } from '../hub/visitor.ts'
import { createKubectl } from '../kube/kubectl.ts'
import { waitUntil } from '../process/api-client.ts'
import { accounts, people } from './people.ts'
import type { HubView, Place, PlacePlan } from './place.ts'

const spawnLimitMs = 300_000
/** The Hub polls each lab every half minute. */
const pollLimitMs = 90_000

/** Starts a platform with real labs, does the work and stops it. */
export function withLabsAtHub<T>(plan: PlacePlan, work: (place: Place) => Promise<T>): Promise<T> {
  const { options, idle, progress, signal } = plan
  const { replicas, users, hub: version } = options
  const more = { accounts: accounts(), overrides: { idle } }
  return withPlatform({ version: version!, replicas, users, progress, signal, ...more }, async platform => {
    const { stack, hub, tools } = platform
    const visitors = new Map(people.map(({ name }) => [name, new HubVisitor({ url: hub.url, username: name, signal })]))
    const kubectl = createKubectl(tools, stack.cluster.kubeconfig, stack.cluster.stateDir)
    const visitorOf = (name: string) => visitors.get(name)!
    return work({
      ...{ stack, kubectl },
      hub: {
        url: hub.url,
        logs: hub.logs,
        view: (name, isStopped) => viewOf(platform, visitorOf(name), isStopped, signal),
      },
      spawn: name => spawn(visitorOf(name), stack.users[name]!.token),
      async jupyter(name) {
        const { hostname, port } = new URL(hub.url)
        const token = await visitorOf(name).token()
        return new Jupyter({ address: hostname, port: Number(port), prefix: `/user/${name}/`, token })
      },
    })
  })
}

async function spawn(visitor: HubVisitor, password: string): Promise<void> {
  await visitor.login(password)
  await visitor.spawn(asked)
  const server = await visitor.settled(spawnLimitMs)
  if (!server?.ready) throw new Error(`the Hub has no lab for ${visitor.username}`)
}

async function viewOf(
  { hub }: Platform,
  visitor: HubVisitor,
  isStopped: boolean,
  signal: AbortSignal,
): Promise<HubView> {
  const { username } = visitor
  if (!isStopped) {
    const server = await visitor.server()
    if (!server?.ready) throw new Error(`the Hub shows the lab of ${username} as stopped, which runs`)
    return { state: 'ready', poll: null, form: null }
  }
  const isShown = async () => (await visitor.server()) === null
  await waitUntil(isShown, { what: `the end of the lab of ${username} at the Hub`, limitMs: pollLimitMs, signal })
  return { state: 'stopped', poll: pollIn(hub.log(), username), form: noticeIn(await visitor.form()) }
}

/** The spawner's last answer to `poll`, by the Hub's log; null if the Hub has stopped the lab by itself. */
export function pollIn(log: string, username: string): number | null {
  const lines = log.matchAll(/User (\S+) server stopped,? with exit code: (\d+)/g)
  const last = [...lines].findLast(([, name]) => name === username)
  return last ? Number(last[2]) : null
}

/** What a lab form says of the last stop. */
export const noticeIn = (form: string): string | null => /<bdi>(Your last lab was [^<]+)<\/bdi>/.exec(form)?.[1] ?? null
