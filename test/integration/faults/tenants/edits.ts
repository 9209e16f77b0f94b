/**
 * tenants N4 and N10: replicas agree. After random edits of tenants whose sudoers have nasty names all is as wished, and then
 * nobody writes; nor does a replica that lists everything anew, or take a lease.
 */
import { waitUntil } from '../../../../dev/process/api-client.ts'
import { systemClock } from '../../../../src/base/clock.ts'
import { selfName } from '../../../../src/tenants/names.ts'
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { eventually } from '../../../kit/cluster/world.ts'
import type { AuditedRequest } from '../../../kit/evidence/audit.ts'
import { monitorRedis } from '../../../kit/store/monitor.ts'
import { account } from '../../../kit/tenants/objects.ts'
import type { TenantFleet } from '../../tenants/tenant-fleet.ts'
import { isWhole } from '../points.ts'
import { rights } from './rights.ts'
import { tenantFleet, user } from './shared.ts'

const tenants = isWhole ? 300 : 6
const steadyTenants = isWhole ? 100 : 5
const quietMs = isWhole ? 60_000 : 1_500
const settleMs = isWhole ? 240_000 : 30_000
/** After it what is answered is in the watches. */
const calmMs = isWhole ? 2_000 : 1_000
/** People who edit at the same time, each their own tenants. */
const editors = 4

/** Names that a careless rule makes one: by case, by separators, by what RBAC forbids, by our own escapes. */
const nasty = [
  ...['a.b', 'a-b', 'a_b', 'a@b', 'A.B', 'a..b', 'a b', 'a/b', 'a%b', 'a=b', 'a=2Fb', 'a%2Fb', 'a=3D2Fb', 'a+b'],
  ...['á.b', 'a\u0301.b', '.', '..', 'lns:self:a.b', 'a.b-sudoers'],
]

/** Nobody else's: the fleet's name is in each. */
const nameOf = (fleet: TenantFleet, i: number): string => `${nasty[i % nasty.length]}${fleet.name}`

const writeVerbs = new Set(['create', 'update', 'patch', 'delete'])
const isWrite = ({ sender, verb, dryRun }: AuditedRequest) => sender === account && writeVerbs.has(verb) && !dryRun

const writesOf = async (fleet: TenantFleet) => (await fleet.audit.all()).filter(isWrite)

/** Some of the people, by chance. */
function some(trial: Trial, fleet: TenantFleet) {
  return nasty.flatMap((_, i) => (trial.random() < 0.15 ? [user(nameOf(fleet, i))] : []))
}

const specOf = (trial: Trial, fleet: TenantFleet) => ({
  users: some(trial, fleet),
  managers: some(trial, fleet),
  sudoers: some(trial, fleet),
  // As the server keeps neither.
  platform: { quota: { 'requests.cpu': '1000m', 'requests.memory': '1024Mi' }, limits: { max: { cpu: '2000m' } } },
})

async function editAtRandom(trial: Trial, fleet: TenantFleet, name: string): Promise<void> {
  trial.injected()
  const spec = specOf(trial, fleet)
  const act = Math.floor(trial.random() * 5)
  if (act === 0) await fleet.edit(name, { users: spec.users })
  else if (act === 1) await fleet.edit(name, { platform: { quota: { pods: String(Math.floor(trial.random() * 9)) } } })
  else if (act === 2) await fleet.kube.request('DELETE', `/api/v1/namespaces/${name}/limitranges/lns-platform`)
  else await fleet.edit(name, spec)
  trial.landed()
}

/** What of a tenant is not as its LNamespace says. */
async function wrongRights(fleet: TenantFleet, names: readonly string[]): Promise<string[]> {
  const listed = new Map(nasty.map((_, i) => [nameOf(fleet, i), new Set<string>()]))
  const specs = await Promise.all(names.map(async name => ({ name, spec: (await fleet.read(name)).spec })))
  for (const { name, spec } of specs) for (const each of spec.sudoers) listed.get(each.name)?.add(name)
  const faults: string[] = []
  for (const [person, of] of listed) {
    const self = await rights.self.may(fleet, '', person)
    if (self !== of.size > 0)
      faults.push(`${person} is listed by ${of.size}, and ${self ? 'has' : 'lacks'} ${selfName(person)}`)
    // Each right of each of them would be 18,000 questions.
    const asked = isWhole ? names.filter(() => Math.random() < 0.05) : names
    for (const tenant of asked) {
      if ((await rights.sudo.may(fleet, tenant, person)) !== of.has(tenant))
        faults.push(`sudo of ${person} in ${tenant}`)
    }
  }
  return faults
}

async function allReady(fleet: TenantFleet, names: readonly string[]): Promise<void> {
  const own = new Set(names)
  const areReady = async () => {
    const found = (await fleet.kube.list('/apis/gial.lblw.dev/v1beta1/lnamespaces')).filter(({ metadata }) =>
      own.has(metadata.name),
    )
    return found.length === names.length && found.every(isReady)
  }
  await waitUntil(areReady, { what: 'all tenants are ready', limitMs: settleMs })
}

// biome-ignore lint/suspicious/noExplicitAny: an LNamespace
const isReady = ({ metadata, status }: any): boolean =>
  status?.conditions?.some(
    ({ type, status: is, observedGeneration }: { type: string; status: string; observedGeneration: number }) =>
      type === 'Ready' && is === 'True' && observedGeneration === metadata.generation,
  ) ?? false

/** Nobody writes any more. @returns the writes */
async function rest(trial: Trial, fleet: TenantFleet): Promise<readonly AuditedRequest[]> {
  await systemClock.sleep(calmMs)
  const before = (await writesOf(fleet)).length
  await systemClock.sleep(quietMs)
  const more = (await writesOf(fleet)).slice(before)
  trial.figure('writes', before)
  trial.figure('writesAtRest', more.length)
  const first = more[0]
  if (first)
    trial.violation(
      `${more.length} writes at rest in ${quietMs} ms, such as ${first.verb} ${first.resource} ${first.name}`,
    )
  return more
}

async function randomEdits(trial: Trial): Promise<void> {
  const fleet = await tenantFleet()
  trial.figure('tenants', tenants)
  const names = Array.from({ length: tenants }, (_, i) => `${fleet.name}-edits-${i}`)
  const editor = async (index: number) => {
    const own = names.filter((_, i) => i % editors === index)
    for (const name of own) await fleet.make(specOf(trial, fleet), name)
    for (let i = 0; i < own.length * 3; i += 1) {
      await editAtRandom(trial, fleet, own[Math.floor(trial.random() * own.length)]!)
    }
  }
  await Promise.all(Array.from({ length: editors }, (_, index) => editor(index)))
  const begunMs = performance.now()
  await allReady(fleet, names)
  trial.figure('settledAfterMs', Math.round(performance.now() - begunMs))
  let faults: string[] = []
  const areRight = async () => {
    faults = await wrongRights(fleet, names)
    return faults.length === 0
  }
  // Rights that several tenants share are of other keys.
  await eventually('rights as listed', areRight, 10_000).catch(() => trial.violation(faults.slice(0, 5).join('; ')))
  await rest(trial, fleet)
  await Promise.all(names.map(name => fleet.drop(name)))
}

interface TurnsInRedis {
  /** Resolves when turns ask for nothing for a while, and counts from then on. */
  silence(): Promise<void>
  count(): number
  close(): void
}

/** What turns ask Redis for: leases, and bills. The one replica that sends bills looks for them all the time. */
async function turnsInRedis(fleet: TenantFleet): Promise<TurnsInRedis> {
  let count = 0
  let lastMs = performance.now()
  const close = await monitorRedis(fleet.redis.url, line => {
    if (!/:lease-of:(tenant|sudoer):|:bill-marks"/.test(line)) return
    count += 1
    lastMs = performance.now()
  })
  const isSilent = async () => performance.now() - lastMs > calmMs
  return {
    silence: async () => {
      await waitUntil(isSilent, { what: 'no turn asks Redis', limitMs: settleMs })
      count = 0
    },
    count: () => count,
    close,
  }
}

/** Tenants that nobody edits; replicas begin anew in the middle, and list all of them. */
async function steady(trial: Trial): Promise<void> {
  const fleet = await tenantFleet()
  const names = Array.from({ length: steadyTenants }, (_, i) => `${fleet.name}-steady-${i}`)
  trial.figure('tenants', steadyTenants)
  await Promise.all(names.map(name => fleet.make(specOf(trial, fleet), name)))
  await allReady(fleet, names)
  const begunMs = performance.now()
  const turns = await turnsInRedis(fleet)
  // Attacks before this one leave tenants that are gone: their rights are taken away for seconds yet.
  await turns.silence()
  trial.figure('silentAfterMs', Math.round(performance.now() - begunMs))
  const listsBefore = await listsOf(fleet)
  for (const replica of isWhole ? fleet.replicas : fleet.replicas.slice(1)) {
    trial.injected()
    const { ended } = replica
    replica.kill()
    await ended
    await fleet.ready()
    trial.landed()
  }
  await rest(trial, fleet)
  const lists = (await listsOf(fleet)) - listsBefore
  const leases = turns.count()
  turns.close()
  trial.figure('lists', lists)
  trial.figure('leases', leases)
  if (lists < 8) trial.violation(`only ${lists} lists`)
  if (leases > 0) trial.violation(`${leases} calls of Redis by turns at rest`)
  await Promise.all(names.map(name => fleet.drop(name)))
}

const listsOf = async (fleet: TenantFleet) =>
  (await fleet.audit.all()).filter(({ sender, verb }) => sender === account && verb === 'list').length

attack('tenants N4 random edits of tenants with nasty names', randomEdits, { limitMs: 900_000 })
attack('tenants N10 replicas that find all as it is', steady, { limitMs: 600_000 })
