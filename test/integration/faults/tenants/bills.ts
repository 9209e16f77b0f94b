/**
 * tenants N8: the table of bills is as the LNamespaces within ten seconds after its database answers, each generation has one
 * line of the log, and what was closed stays closed: the database is killed in its transactions, Redis loses all, and a sender is
 * stopped past its lease. The judge reads the table and the LNamespaces.
 */
import { Redis } from 'ioredis'
import type { Postgres } from '../../../../dev/postgres/postgres.ts'
import { systemClock } from '../../../../src/base/clock.ts'
import { creationPath } from '../../../../src/kube/kinds.ts'
import { tenantParent } from '../../../../src/tenants/words.ts'
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { billsIn } from '../../../kit/billing/postgres.ts'
import { eventually } from '../../../kit/cluster/world.ts'
import type { TenantFleet } from '../../tenants/tenant-fleet.ts'
import { isWhole } from '../points.ts'
import { commonBilling, tenantFleetWithBills } from './shared.ts'

/** From the answer of the database to a table that is right. */
const rightLimitMs = 10_000
/** Bills that wait meanwhile. */
const crowd = isWhole ? 40 : 6
const rounds = isWhole ? 8 : 1

interface Scene {
  readonly trial: Trial
  readonly fleet: TenantFleet
  readonly postgres: Postgres
  /** Begins the names of its LNamespaces. */
  readonly start: string
}

async function scene(trial: Trial, story: string): Promise<Scene> {
  const both = await tenantFleetWithBills()
  return { trial, ...both, start: `${both.fleet.name}-bill-${story}` }
}

interface LNamespace {
  readonly metadata: { readonly name: string; readonly uid: string; readonly generation: number }
  readonly spec?: { readonly billing?: Readonly<Record<string, string>> }
}

async function living({ fleet, start }: Scene): Promise<readonly LNamespace[]> {
  const all = (await fleet.kube.list(creationPath(tenantParent.apiVersion, tenantParent.kind))) as never as LNamespace[]
  return all.filter(({ metadata }) => metadata.name.startsWith(start))
}

/** Why the table is not as the LNamespaces; undefined if it is. */
async function difference(one: Scene): Promise<string | undefined> {
  const wanted = (await living(one)).flatMap(({ metadata, spec }) =>
    Object.entries({ ...commonBilling, ...spec?.billing }).map(([key, value]) => `${metadata.name}.${key}=${value}`),
  )
  const found = await billsIn(one.postgres, one.start)
  const lacking = wanted.filter(row => !found.includes(row))
  const excess = found.filter(row => !wanted.includes(row))
  if (lacking.length + excess.length === 0) return undefined
  return `the table differs: it lacks ${lacking.slice(0, 3).join(', ') || 'nothing'}, and has ${excess.slice(0, 3).join(', ') || 'nothing'} too much`
}

/** Waits until the table is right, and judges when that was. */
async function judged(one: Scene, sinceMs = performance.now(), limitMs = rightLimitMs): Promise<void> {
  const { trial } = one
  for (;;) {
    const words = await difference(one)
    const ms = performance.now() - sinceMs
    if (words === undefined) {
      trial.took(ms)
      if (ms > limitMs) trial.violation(`the table was right after ${Math.round(ms)} ms`)
      return
    }
    if (ms > limitMs + 5_000) return trial.violation(words)
    await systemClock.sleep(50)
  }
}

/** Each generation has one line, and what is closed has no rows. Nobody here changes defaults, so no revision is drawn. */
async function judgeLog({ trial, postgres, start }: Scene): Promise<void> {
  const [values, like] = [[`${start}%`], 'ns_name LIKE $1']
  const twice = await postgres.query<{ ns_name: string; generation: string }>(
    `SELECT ns_name, generation FROM tenant_billing_log WHERE ${like} AND NOT closed GROUP BY ns_name, ns_uid, generation HAVING count(*) > 1`,
    values,
  )
  for (const { ns_name, generation } of twice) {
    trial.violation(`generation ${generation} of ${ns_name} has more than one line of the log`)
  }
  const dead = await postgres.query<{ ns_name: string }>(
    `SELECT DISTINCT ns_name FROM tenant_billing JOIN tenant_billing_head USING (ns_uid, ns_name) WHERE closed_at IS NOT NULL AND ${like}`,
    values,
  )
  for (const { ns_name } of dead) trial.violation(`the table differs: ${ns_name} is closed and has rows`)
}

const spec = (value: string) => ({ billing: { 'cost-center': value } })

async function madeMany(one: Scene, count: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, i) => `${one.start}-${i}`)
  await Promise.all(names.map(name => one.fleet.make(spec('0'), name)))
  await judged(one, performance.now(), 60_000)
  return names
}

/** Edits some, deletes one and makes another, all at once. */
async function change({ fleet, start }: Scene, names: string[], round: number): Promise<void> {
  const gone = names.shift()!
  const next = `${start}-next-${round}`
  await Promise.all([
    fleet.drop(gone),
    fleet.make(spec('new'), next),
    ...names.map(name => fleet.edit(name, spec(`${round}`))),
  ])
  names.push(next)
}

/** The database is killed while a transaction has claimed a row; what changes meanwhile waits. */
async function killed(trial: Trial): Promise<void> {
  const one = await scene(trial, 'killed')
  const { fleet, postgres } = one
  const names = await madeMany(one, crowd)
  for (let round = 1; round <= rounds; round += 1) {
    trial.injected()
    const arm = fleet.failpoints.arm('billing.in-transaction', 'hold')
    const [first] = names
    await fleet.edit(first!, spec(`held-${round}`))
    await arm.landed()
    const open = await postgres.query(
      `SELECT 1 FROM pg_stat_activity WHERE usename = 'skylab' AND state = 'idle in transaction'`,
    )
    if (open.length > 0) trial.landed()
    await postgres.kill()
    arm.release()
    await change(one, names, round)
    await fleet.says(names[0]!, 'Billed', 'Unreachable')
    await postgres.start()
    await judged(one)
  }
  for (const name of names) await fleet.says(name, 'Billed', 'Billed')
  await judgeLog(one)
}

/** Redis loses all. @returns how many bills waited, and marks */
async function emptied(fleet: TenantFleet): Promise<number> {
  const client = new Redis(fleet.redis.url)
  try {
    const waiting = await client.hlen(`{${fleet.name}}:bills`)
    await client.flushall()
    return waiting
  } finally {
    client.disconnect()
  }
}

/** Redis loses all bills that wait for a database that is away. */
async function flushed(trial: Trial): Promise<void> {
  const one = await scene(trial, 'flushed')
  const { fleet, postgres } = one
  const names = await madeMany(one, crowd)
  for (let round = 1; round <= rounds; round += 1) {
    trial.injected()
    await postgres.kill()
    await change(one, names, round)
    for (const name of names) await fleet.says(name, 'Billed', 'Unreachable')
    if ((await emptied(fleet)) > names.length) trial.landed()
    await postgres.start()
    await judged(one)
  }
  await judgeLog(one)
}

interface Late {
  readonly point: 'before-write' | 'in-transaction'
  readonly story: 'edited' | 'deleted'
}

const allLate: readonly Late[] = (['before-write', 'in-transaction'] as const).flatMap(point =>
  (['edited', 'deleted'] as const).map(story => ({ point, story })),
)
const lates: readonly Late[] = isWhole
  ? [...allLate, ...allLate, ...allLate]
  : [
      { point: 'before-write', story: 'edited' },
      { point: 'before-write', story: 'deleted' },
    ]

/** A sender is stopped with a bill in its hand, or in its transaction, until another one has taken over and written more. */
async function late(trial: Trial): Promise<void> {
  const one = await scene(trial, 'late')
  const { fleet } = one
  for (const [index, { point, story }] of lates.entries()) {
    const name = await fleet.make(spec('first'), `${one.start}-${index}`)
    await fleet.says(name, 'Billed', 'Billed')
    trial.injected()
    const failed = await Promise.all(fleet.replicas.map(each => failures(fleet, each.name)))
    const arm = fleet.failpoints.arm(`billing.${point}`, 'stop', { user: name })
    await fleet.edit(name, spec('held'))
    const { replica } = await arm.landed()
    // Its lease must lapse; and the server ends its transaction.
    if (story === 'edited') await fleet.edit(name, spec('later'))
    else await forgotten(one, name)
    await eventually(
      `${point} ${story}: the heir has written`,
      async () => (await difference(one)) === undefined,
      30_000,
    )
    const after = fleet.failpoints.arm('billing.after-write', 'note', { replica, user: name })
    const before = failed[fleet.replicas.findIndex(each => each.name === replica)]!
    fleet.replica(replica).kill('SIGCONT')
    // The late transaction is answered, or the server has ended it.
    const isSeen = async () => after.marks().length > 0 || (await failures(fleet, replica)) > before
    await eventually(`${point} ${story}: the late transaction`, isSeen)
    trial.landed()
    after.disarm()
    const endMs = performance.now() + 1_000
    while (performance.now() < endMs) {
      const words = await difference(one)
      if (words !== undefined) trial.violation(`${point}, ${story}: ${words}`)
      await systemClock.sleep(50)
    }
    await fleet.ready()
  }
  await judgeLog(one)
}

/** Ends an LNamespace whose last bill only the stopped sender has: its heir writes the end alone, of an older generation. */
async function forgotten({ fleet }: Scene, name: string): Promise<void> {
  await fleet.drop(name)
  await eventually(`the end of ${name}`, async () => (await fleet.read(name)) === null)
  await emptied(fleet)
}

const failures = (fleet: TenantFleet, replica: string): Promise<number> =>
  fleet.metric(
    fleet.replicas.findIndex(({ name }) => name === replica),
    'skylab_billing_failures_total',
  )

attack('tenants N8 the database is killed in transactions', killed, { limitMs: 600_000 })
attack('tenants N8 Redis loses what waits', flushed, { limitMs: 600_000 })
attack('tenants N8 a sender that was stopped past its lease', late, { limitMs: 600_000 })
