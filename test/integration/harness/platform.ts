/** A whole platform for one file: a fleet, JupyterHubs of each version before it, and a browser. On the real node. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect } from 'vitest'
import { run } from '../../../box/command.ts'
import { type HubVersion, hubEnvironment, hubPackage, hubVersions } from '../../../box/hub/environment.ts'
import { type Hub, labsOfHub, startHub } from '../../../box/hub/hub.ts'
import { startNames } from '../../../box/hub/names.ts'
import { HubVisitor } from '../../../box/hub/visitor.ts'
import { createProgress } from '../../../box/progress.ts'
import { setup } from '../../../box/setup.ts'
import { launchBrowser } from './browser.ts'
import { type Fleet, useFleet } from './fleet.ts'
import { testPlace } from './place.ts'
import { TcpProxy } from './proxy.ts'
import { eventually } from './world.ts'

const startLimitMs = 120_000

/** The lab of a user whose name begins so is not up before the test opens the gate; that of another one never comes up. */
const command = `case "$JUPYTERHUB_USER" in
gated*) until [ -e /tmp/gate ]; do sleep 0.1; done ;;
broken*) echo there is no such kernel >&2; exit 3 ;;
esac
exec jupyterhub-singleuser`

export interface Platform {
  readonly fleet: Fleet
  /** The way from the Hubs to the controller, behind which the balancer stands. */
  readonly way: TcpProxy
  readonly browser: Browser
  hub(version: HubVersion): Hub
  /** Somebody without a browser, logged in. */
  visitor(version: HubVersion, username: string): Promise<HubVisitor>
  /** A page of a browser of their own, logged in, where the Hub leads them: to the form. */
  login(version: HubVersion, username: string): Promise<Page>
  /** Lets a lab come up whose user's name begins with `gated`, once it has begun. */
  openGate(username: string): Promise<void>
  /** Identity of the user's pod. */
  podUid(username: string): Promise<string | undefined>
}

/** @param people names of users beside `u1`, `u2`, …; the Hubs' own account is made too */
export function usePlatform(people: readonly string[]): () => Platform {
  const fleet = useFleet({
    restart: true,
    people: {
      ...Object.fromEntries(people.map(name => [name, {}])),
      hub: { scopes: ['admin:jupyterlab'] },
    },
    config: { ...labsOfHub, lab: { command: ['sh', '-c', command] } },
  })
  const hubs = new Map<HubVersion, Hub>()
  let browser: Browser | undefined
  let way: TcpProxy | undefined
  beforeAll(async () => {
    browser = await launchBrowser()
    way = await TcpProxy.before(await fleet().balancerUrl())
    await way.open()
    for (const [version, hub] of await startHubs(fleet(), way)) hubs.set(version, hub)
  }, startLimitMs)
  afterAll(async () => {
    await browser?.close()
    await Promise.all([...hubs.values()].map(hub => hub.stop()))
    await way?.shut()
  }, startLimitMs)
  return () => platformOf(fleet(), hubs, browser!, way!)
}

async function startHubs(fleet: Fleet, way: TcpProxy): Promise<readonly (readonly [HubVersion, Hub])[]> {
  const { kubeconfig } = testPlace()
  const { stateDir } = fleet
  const progress = createProgress()
  const tools = await setup(['names', 'python'], progress)
  const environments = await Promise.all(hubVersions.map(version => hubEnvironment(version, progress)))
  const names = await startNames({ stateDir, cluster: { kubeconfig }, tools })
  const place = { names, stateDir, controllerUrl: `http://127.0.0.1:${way.port}`, token: fleet.as('hub').token }
  return Promise.all(
    hubVersions.map(async (version, index) => {
      const environment = environments[index]!
      const folder = await hubPackage(stateDir, environment)
      return [version, await startHub({ ...place, name: `hub${version}`, environment, package: folder })] as const
    }),
  )
}

function platformOf(fleet: Fleet, hubs: ReadonlyMap<HubVersion, Hub>, browser: Browser, way: TcpProxy): Platform {
  const hub = (version: HubVersion) => hubs.get(version)!
  const exec = (username: string, ...args: string[]) => {
    const { kubectl, kubeconfig } = testPlace()
    const inside = ['exec', '-n', fleet.namespace(username), `nb-${username}`, '--']
    return run(kubectl, ['--kubeconfig', kubeconfig, ...inside, ...args])
  }
  return {
    ...{ fleet, browser, way, hub },
    async visitor(version, username) {
      const visitor = new HubVisitor({ url: hub(version).url, username })
      await visitor.login(fleet.as(username).token)
      return visitor
    },
    async login(version, username) {
      const page = await (await browser.newContext()).newPage()
      await page.goto(hub(version).url)
      await page.getByLabel('Username').fill(username)
      await page.getByLabel('Password').fill(fleet.as(username).token)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('heading', { name: 'Server Options' }).waitFor()
      return page
    },
    async openGate(username) {
      await eventually('a lab at the gate', () => exec(username, 'touch', '/tmp/gate').then(() => true), 30_000)
    },
    podUid: async username => (await fleet.world.podOf(username))?.metadata.uid,
  }
}

/** The index of the replica that serves the only open event stream. */
export async function servingReplica(fleet: Fleet): Promise<number> {
  const open = await eventually('an open event stream', async () => {
    const counts = await Promise.all(fleet.working().map(async index => [index, await openStreams(fleet.url(index))]))
    const serving = counts.filter(([, count]) => count! > 0).map(([index]) => index!)
    return serving.length > 0 ? serving : null
  })
  expect(open).toHaveLength(1)
  return open[0]!
}

async function openStreams(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return Number(/^skylab_event_streams_open (\d+)/m.exec(text)?.[1] ?? 0)
}
