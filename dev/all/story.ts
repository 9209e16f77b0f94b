/** The story of the demo of everything at once: a tenant, its app, a lab, a container on a machine, their idleness, and one bill. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import { tagNames } from '../../src/dispatch/tags.ts'
import { asked, askLab, spawnLab, username } from '../demo/lab.ts'
import { roundSeconds } from '../demo/say.ts'
import { DispatchClient } from '../dispatch/client.ts'
import { machineTypes } from '../dispatch/site.ts'
import { rule } from '../idle/demo.ts'
import { quietLab } from '../idle/place.ts'
import { helloApp, statusFor } from '../in-cluster/hello.ts'
import { waitUntil } from '../process/api-client.ts'
import { labReference } from '../stack/image.ts'
import { billTo } from '../tenants/bill.ts'
import { make, type } from '../tenants/steps.ts'
import { amountsOf, billQuery, quotaOf } from './bill.ts'
import { untilStopped } from './idle.ts'
import { type AllFacts, renderBill, renderQuota } from './report.ts'
import { type AllSite, tenant } from './site.ts'

/** Against hanging, not for speed. */
const limitMs = 120_000
const app = 'hello'
/** Long enough to look at its machine. */
const command = ['sh', '-c', 'sleep 4; echo the survey is done']

export interface Stage {
  readonly site: AllSite
  readonly tell: (text: string) => void
  readonly signal: AbortSignal
}

const since = (begunMs: number) => roundSeconds(systemClock.monotonicMs() - begunMs)

/** All that happens but the end of the tenant. */
export async function tellStory(stage: Stage): Promise<AllFacts> {
  const { site, tell, signal } = stage
  introduce(stage)
  tell('\n1. ada makes a namespace for her team. grace works in it, and the operators set a quota:')
  const seconds = await make(site, tell)
  tell('She bills it to her project; the default of the operators stays:')
  const paidBy = await billTo({ ...site, admin: site.kubectl, signal }, tell)
  const ofApp = await showApp(stage)
  const ofLab = await showLab(stage)
  const container = await runContainer(stage)
  const running = await quotaOf(site.kubectl, tenant)
  tell(`\nThe quota of ${tenant} counts what runs in its namespace: ${renderQuota(running)}.`)
  tell(
    `\n5. Everybody goes home. What nobody uses for ${rule.idleTimeoutSeconds} s ends, and its people are warned ${rule.warnSeconds} s before:`,
  )
  const idle = await untilStopped({ site, names: { lab: username, app, namespace: tenant }, tell, signal })
  for (const { workload, why, afterSeconds } of idle) tell(`  the ${workload} is gone after ${afterSeconds} s: ${why}`)
  const bill = await showBill(stage, container.uuid, paidBy)
  const stopped = await quotaOf(site.kubectl, tenant)
  const facts = { ...{ app: ofApp, lab: ofLab, container, idle, bill }, quota: { running, stopped } }
  tell(`The bill of ${tenant}:\n${renderBill(facts)}`)
  return { tenant: { name: tenant, seconds }, ...facts }
}

function introduce({ site, tell }: Stage): void {
  const { stack, tenants, apps, dispatch } = site
  const of = (name: string, pids: readonly number[]) => `  ${name.padEnd(42)}  ${pids.join(', ')}`
  const rows = [
    of(
      'labs, and the end of idle ones: replicas',
      stack.replicas.map(({ pid }) => pid),
    ),
    of('namespaces of tenants, and their bills', [tenants.pid]),
    of('apps, and the end of idle ones', [apps.controller.pid]),
    of('the gateway before apps', [apps.gateway.pid]),
    of('containers on machines, and what they cost', [dispatch.pid]),
  ]
  tell(`\nOne cluster, one Redis, and these processes of Skylab, by pid:\n${rows.join('\n')}
Three people have tokens, and no role in the cluster: ada, grace and max.`)
}

/** grace makes it with her own rights in the namespace. */
async function showApp({ site, tell, signal }: Stage): Promise<AllFacts['app']> {
  const { stack, people, apps, kubectl } = site
  tell(`\n2. grace installs an app for the team, by her own rights in ${tenant}:`)
  const image = labReference(stack.cluster.registry!)
  const file = join(stack.cluster.stateDir, `${app}.json`)
  await writeFile(file, JSON.stringify(helloApp({ name: app, namespace: tenant, group: tenant, image })))
  const begunMs = systemClock.monotonicMs()
  await type(people.grace, ['apply', '-f', file], tell)
  const status = (field: string) =>
    kubectl(['get', 'phapplication', app, '-n', tenant, '-o', `jsonpath={.status.${field}}`])
  const isReady = async () => (await status('phase')).trim() === 'Ready'
  await waitUntil(isReady, { what: `the app ${app}`, limitMs, signal }).catch(async error => {
    throw new Error(`${error.message}: ${await status('message')}`)
  })
  const seconds = since(begunMs)
  const gateway = apps.gateway.url
  const look = (who: 'grace' | 'max') => statusFor({ gateway, app, token: people[who].token, signal })
  const [member, stranger] = [await look('grace'), await look('max')]
  const url = `${gateway}/console/apps/${app}/`
  tell(`  Ready after ${seconds} s at ${url}
  grace, who works in ${tenant}, logs in there: ${member}; max, who does not: ${stranger}`)
  return { url, member, stranger, seconds }
}

async function showLab({ site, tell, signal }: Stage): Promise<AllFacts['lab']> {
  const { stack, kubectl } = site
  tell(`\n3. ada opens her lab, a JupyterLab in a namespace of her own:`)
  const begunMs = systemClock.monotonicMs()
  const lab = await spawnLab(quietLab(site, username, signal), asked)
  const seconds = since(begunMs)
  const http = lab.internal_url === null ? null : await askLab(kubectl, lab.internal_url, signal)
  tell(
    `  ${lab.status} after ${seconds} s, at ${lab.internal_url}, which answers ${http} (any of ${stack.replicas.length} replicas makes it)`,
  )
  return { status: lab.status, http, seconds }
}

async function runContainer({ site, tell, signal }: Stage): Promise<AllFacts['container']> {
  const { stack, dispatch, managementToken, cloud } = site
  tell(`\n4. ada sends a container to a machine of a cloud. The cloud is this host, and has no machine yet:`)
  const client = new DispatchClient({ replicas: [dispatch], users: stack.users, managementToken }, signal)
  const begunMs = systemClock.monotonicMs()
  const uuid = await client.submit({ command, vcpus: machineTypes.small.VCPUs }, 0)
  tell(`  ${uuid} waits for a machine with ${machineTypes.small.VCPUs} processor, ${machineTypes.small.Price} an hour`)
  const find = async () => (await client.containers()).find(each => each.uuid === uuid)!
  const untilState = (...states: readonly string[]) =>
    waitUntil(async () => states.includes((await find()).state), {
      what: `${states.join(' or ')} of ${uuid}`,
      limitMs,
      signal,
    })
  await untilState('Running', 'Complete', 'Cancelled')
  const tags = tagsOf(await cloud.read((await find()).instance))
  await untilState('Complete', 'Cancelled')
  const { tenant: of, instance: machine, state, exit_code: exitCode, cost } = await find()
  const seconds = since(begunMs)
  tell(`  ${state} with ${exitCode} after ${seconds} s, on ${machine}. It counts for ${of}, and has cost ${cost}
  the tags of its machine say who pays: ${Object.entries(tags)
    .map(pair => pair.join('='))
    .join(', ')}`)
  const living = async () => (await cloud.all()).some(each => each.state !== 'gone')
  await waitUntil(async () => !(await living()), { what: 'an empty cloud', limitMs, signal })
  tell('  nothing is left for the machine, so it has ended')
  return { uuid, tenant: of, machine, state, exitCode, cost, tags, seconds }
}

/** The payer, by the tags of a machine that begin as those of billing do. */
function tagsOf(machine: { readonly tags: Readonly<Record<string, string>> } | undefined): Record<string, string> {
  const { billing } = tagNames('Arvados')
  const all = Object.entries(machine?.tags ?? {}).filter(([name]) => name.startsWith(billing))
  return Object.fromEntries(all.map(([name, value]) => [name.slice(billing.length), value]))
}

async function showBill(
  { site, tell, signal }: Stage,
  uuid: string,
  paidBy: readonly string[],
): Promise<AllFacts['bill']> {
  const { postgres } = site
  tell(`\n6. At the end of the month the operators ask the one database of bills:`)
  const isThere = async () => (await amountsOf(postgres, tenant)).some(({ container }) => container === uuid)
  await waitUntil(isThere, { what: `what ${uuid} has cost, in the database`, limitMs, signal })
  tell(
    `  operator$ psql bills -c '${billQuery}'\n${(await postgres.psql(billQuery)).trimEnd().replaceAll(/^/gm, '  ')}`,
  )
  const machines = await amountsOf(postgres, tenant)
  const total = machines.reduce((sum, { cost }) => sum + cost, 0)
  return { tenant, paidBy, machines, total }
}
