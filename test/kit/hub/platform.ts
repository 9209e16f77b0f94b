/** A whole platform for one file, on the real node: a fleet, JupyterHubs of each version before it, and a browser. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll } from 'vitest'
import { type Hub, labsOfHub, startHub } from '../../../dev/hub/hub.ts'
import { startNames } from '../../../dev/hub/names.ts'
import { HubVisitor } from '../../../dev/hub/visitor.ts'
import { run } from '../../../dev/process/command.ts'
import { createProgress } from '../../../dev/process/progress.ts'
import { launchBrowser } from '../../../dev/setup/browser.ts'
import { type HubVersion, hubEnvironment, hubPackage, hubVersions } from '../../../dev/setup/jupyterhub.ts'
import { setup } from '../../../dev/setup/setup.ts'
import { eventually } from '../cluster/world.ts'
import { type Fleet, useFleet } from '../fleet/fleet.ts'
import { TcpProxy } from '../network/proxy.ts'
import { testBed } from '../testbed.ts'

const startLimitMs = 120_000
/** Of one step on a page. */
const pageLimitMs = 90_000

/** A lab of a user `gated…` starts when the test opens the gate. A lab of a user `broken…` never starts. */
const command = `case "$JUPYTERHUB_USER" in
gated*) until [ -e /tmp/gate ]; do sleep 0.1; done ;;
broken*) echo there is no such kernel >&2; exit 3 ;;
esac
exec jupyterhub-singleuser`

/** A starting Hub waits this long, and not 10 s, for labs that are still being created. */
const eager = ['--JupyterHub.init_spawners_timeout=1']

/** Small, so that all labs of a file fit on the machine's one node. */
const small = { cpu: 0.05, memory: '128Mi' }
const sizes = {
  small: { limits: { cpu: 1, memory: '2Gi' }, requests: small },
  medium: { limits: { cpu: 2, memory: '3Gi' }, requests: small },
  large: { limits: { cpu: 4, memory: '4Gi' }, requests: small },
}

export interface Platform {
  readonly fleet: Fleet
  readonly browser: Browser
  hub(version: HubVersion): Hub
  /** The proxy from a Hub to the balancer before the controller. */
  way(version: HubVersion): TcpProxy
  /** A logged-in user without a browser. */
  visitor(version: HubVersion, username: string): Promise<HubVisitor>
  /** A logged-in user's page in a browser context of its own, where the Hub leads it: at the form. */
  login(version: HubVersion, username: string): Promise<Page>
  /** Lets the lab of a user `gated…` start, once its container runs. */
  openGate(username: string): Promise<void>
  /** UID of the user's pod. */
  podUid(username: string): Promise<string | undefined>
}

/** @param people names of users besides `u1`, `u2`, …; the Hubs' own account is made too */
export function usePlatform(people: readonly string[]): () => Platform {
  const fleet = useFleet({
    restart: true,
    people: {
      ...Object.fromEntries(people.map(name => [name, {}])),
      hub: { scopes: ['admin:jupyterlab'] },
    },
    config: { ...labsOfHub, lab: { command: ['sh', '-c', command], sizes } },
  })
  const hubs = new Map<HubVersion, HubBehind>()
  let browser: Browser | undefined
  beforeAll(async () => {
    browser = await launchBrowser()
    await startHubs(fleet(), hubs)
  }, startLimitMs)
  afterAll(async () => {
    await browser?.close()
    await Promise.all([...hubs.values()].map(({ hub }) => hub.stop()))
    await Promise.all([...hubs.values()].map(({ way }) => way.shut()))
  }, startLimitMs)
  return () => platformOf(fleet(), hubs, browser!)
}

interface HubBehind {
  readonly hub: Hub
  readonly way: TcpProxy
}

async function startHubs(fleet: Fleet, hubs: Map<HubVersion, HubBehind>): Promise<void> {
  const { kubeconfig } = testBed()
  const { stateDir } = fleet
  const progress = createProgress()
  const tools = await setup(['names', 'python'], progress)
  const names = await startNames({ stateDir, cluster: { kubeconfig }, tools })
  const start = async (version: HubVersion) => {
    const environment = await hubEnvironment(version, progress)
    const folder = await hubPackage(stateDir, environment)
    const way = await TcpProxy.before(await fleet.balancerUrl())
    await way.open()
    const controllerUrl = `http://127.0.0.1:${way.port}`
    const place = { name: `hub${version}`, names, stateDir, environment, package: folder, args: eager }
    hubs.set(version, { way, hub: await startHub({ ...place, controllerUrl, token: fleet.as('hub').token }) })
  }
  await Promise.all(hubVersions.map(start))
}

function platformOf(fleet: Fleet, hubs: ReadonlyMap<HubVersion, HubBehind>, browser: Browser): Platform {
  const hub = (version: HubVersion) => hubs.get(version)!.hub
  const exec = (username: string, ...args: string[]) => {
    const { kubectl, kubeconfig } = testBed()
    const inside = ['exec', '-n', fleet.namespace(username), `nb-${username}`, '--']
    return run(kubectl, ['--kubeconfig', kubeconfig, ...inside, ...args])
  }
  return {
    ...{ fleet, browser, hub, way: version => hubs.get(version)!.way },
    async visitor(version, username) {
      const visitor = new HubVisitor({ url: hub(version).url, username })
      await visitor.login(fleet.as(username).token)
      return visitor
    },
    async login(version, username) {
      const page = await (await browser.newContext()).newPage()
      page.setDefaultTimeout(pageLimitMs)
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

/** The index of the replica that last opened a user's event stream. */
export async function servingReplica(fleet: Fleet, username: string): Promise<number> {
  const openings = await Promise.all(
    fleet.working().map(async index => {
      const lines = (await fleet.log(index)).split('\n').filter(line => line.includes('/:username/events'))
      const last = lines.map(line => JSON.parse(line)).findLast(({ user }) => user === username)
      return { index, time: String(last?.time ?? '') }
    }),
  )
  const [latest] = openings.sort((a, b) => b.time.localeCompare(a.time))
  if (!latest?.time) throw new Error(`no replica has opened events of ${username}`)
  return latest.index
}
