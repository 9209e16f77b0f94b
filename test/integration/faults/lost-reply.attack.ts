/** Redis carries out a command, and its reply is lost: the command is sent again, and has one effect. */
import { expect, test } from 'vitest'
import { attack, type Trial } from '../../kit/attack/attack.ts'
import { eventually } from '../../kit/cluster/world.ts'
import type { Client } from '../../kit/fleet/client.ts'
import type { Fleet } from '../../kit/fleet/fleet.ts'
import { heal, poison } from '../../kit/fleet/heal.ts'
import {
  allCommands,
  commandsOfApps,
  commandsOfDispatch,
  commandsOfIdleness,
  commandsOfPrepulling,
  commandsOfTenants,
  loseReplyTo,
} from './commands.ts'
import { isWhole } from './points.ts'
import * as wave from './wave.ts'

/** Makes replicas send a command, and asserts that it has one effect. `lost` resolves when its reply is lost. */
type Story = (fleet: Fleet, user: Client, lost: () => Promise<void>) => Promise<void>

const leaseTtlMs = 3 * wave.ttlMs
/** A reconnect may take this long on a busy machine. A third of the lease is the limit. */
const patient = { engine: { leaseTtlMs }, redis: { commandTimeoutMs: leaseTtlMs / 3 } }

/** By then the remains of a doubt are forgotten and a compare is done. */
const recoveryMs = 30_000

/** For commands that replicas send now and then while an operation is in progress. */
const aWhile = () => new Promise(resolve => setTimeout(resolve, leaseTtlMs / 2))

/** Waits until every replica is connected: it makes up for one lost reply, but answers two in a row with 503. */
async function whole(fleet: Fleet): Promise<void> {
  for (const url of fleet.urls) {
    await eventually('connected', async () => (await fleet.admin.at(url).labs()).status === 200)
  }
}

/** Writes to the user's namespace that succeeded. */
const madeFor = async (fleet: Fleet, user: Client) =>
  (await fleet.audit.writesOf(fleet.namespace(user.username))).filter(({ code }) => code < 300)

/**
 * The user has one creation: one acceptance, one claim, each event and each object once, one end. An heir that takes over amid
 * the content binds itself to a role once, to read the objects that exist.
 */
async function expectCreatedOnce(fleet: Fleet, user: Client, { byHeir = false } = {}): Promise<void> {
  const { outcome, op, events } = await user.follow()
  expect(outcome).toBe('complete')
  // Writes that a cluster refuses because it is behind are sent again, and do not count.
  const writes = await madeFor(fleet, user)
  const isRole = ({ resource }: { readonly resource: string }) => resource === 'rolebindings'
  expect(writes.filter(isRole).length).toBeLessThanOrEqual(byHeir ? 1 : 0)
  expect(writes.filter(write => !isRole(write)).map(write => write.op)).toEqual(Array.from({ length: 8 }, () => op))
  const lines = events.map(({ event, data }) => `${event} ${data}`)
  expect(lines).toEqual([...new Set(lines)])
  expect((await user.create()).status).toBe(409)
}

const creation: Story = async (fleet, user, lost) => {
  const arm = fleet.arm('lab.create.make.pod.before-act', 'hold', { user: user.username })
  const landed = lost()
  expect((await user.create()).status).toBe(303)
  await arm.landed()
  await Promise.race([landed, aWhile()])
  arm.release()
  await expectCreatedOnce(fleet, user)
  await Promise.all([user.userStatus(), fleet.admin.labs(), landed])
}

const deletion: Story = async (fleet, user, lost) => {
  await user.create()
  await user.follow()
  await whole(fleet)
  const landed = lost()
  expect((await fleet.admin.delete(user.username)).status).toBe(202)
  const { outcome, op } = await user.follow()
  expect(outcome).toBe('complete')
  await landed
  const writes = (await fleet.audit.writesOf(fleet.namespace(user.username))).filter(write => write.op === op)
  expect(writes.map(({ resource }) => resource)).toEqual(['pods', 'namespaces'])
}

const podFails: Story = async (fleet, user, lost) => {
  await user.create()
  await user.follow()
  await whole(fleet)
  const landed = lost()
  await fleet.world.setPodStatus(user.username, { phase: 'Failed', reason: 'Evicted' })
  await landed
  await eventually('a failed lab', async () => (await user.userStatus()).body.status === 'failed')
  const { events } = (await user.userStatus()).body
  expect(events.filter(({ event }) => event === 'error')).toHaveLength(1)
}

/** Scrapes every replica. */
const scrape: Story = async (fleet, user, lost) => {
  await user.create()
  await user.follow()
  await whole(fleet)
  const landed = lost()
  const texts = await Promise.all(fleet.monitoringUrls.map(async url => (await fetch(`${url}/metrics`)).text()))
  await landed
  for (const text of texts) expect(text).toMatch(/^skylab_labs\{status="running"\} [1-9]/m)
}

/** A draining replica returns its leases. */
const handOver: Story = async (fleet, user, lost) => {
  const arm = await wave.halfMade(fleet, user, fleet.anyUrl())
  const owner = fleet.indexOf(arm.marks()[0]!.replica)
  const landed = lost()
  const ended = fleet.kill(owner, 'SIGTERM')
  await eventually('a draining owner', async () => (await wave.logged(fleet, owner, 'draining')).length > 0)
  arm.release()
  await expectCreatedOnce(fleet, user, { byHeir: true })
  await landed
  await ended
  await fleet.start(owner)
}

/** A starting replica checks which commands it may call. */
const restart: Story = async (fleet, user, lost) => {
  await fleet.kill(0, 'SIGTERM')
  const landed = lost()
  await fleet.start(0)
  await landed
  expect((await user.at(fleet.url(0)).create()).status).toBe(303)
  await expectCreatedOnce(fleet, user)
}

/** Redis is emptied, and the compare is slow. */
const compare: Story = async (fleet, user, lost) => {
  await user.create()
  await user.follow()
  await whole(fleet)
  const { uid } = (await fleet.world.podOf(user.username)).metadata
  const arm = fleet.arm('compare.begun', 'hold')
  const landed = lost()
  await fleet.world.redis.flushall()
  fleet.admin.labs().catch(() => {})
  await arm.landed()
  // Its lease is renewed meanwhile, and other replicas try to take it.
  await Promise.race([landed, aWhile()])
  arm.release()
  await landed
  await whole(fleet)
  const { events } = await user.follow()
  expect(events.map(({ event }) => event)).toEqual(['info', 'complete'])
  expect((await fleet.world.podOf(user.username)).metadata.uid).toBe(uid)
}

/** An owner dies after Redis' clock went back: scans see a beat that does not change. */
const stillBeat: Story = async (fleet, user, lost) => {
  const arm = await wave.halfMade(fleet, user, fleet.anyUrl())
  const owner = fleet.indexOf(arm.marks()[0]!.replica)
  // A request whose sender dies may be carried out, and be logged as one that was not.
  await eventually('all objects but Service and pod', async () => (await madeFor(fleet, user)).length === 6)
  const landed = lost()
  await fleet.kill(owner, 'SIGSTOP')
  fleet.redis.stepClock(-3600)
  await fleet.kill(owner)
  await landed
  await expectCreatedOnce(fleet, user, { byHeir: true })
  await fleet.start(owner)
}

/** Redis' clock is two days behind, and a compare is needed: it records a doubt until the clock is right. */
const doubted: Story = async (fleet, user, lost) => {
  await user.create()
  await user.follow()
  await whole(fleet)
  const { uid } = (await fleet.world.podOf(user.username)).metadata
  const landed = lost()
  fleet.redis.stepClock(-2 * 86_400)
  await fleet.world.redis.flushall()
  fleet.admin.labs().catch(() => {})
  await landed
  fleet.redis.stepClock(0)
  await expectSameLab(fleet, user, uid)
}

/** An operator heals the remains of a poisoned counter and record. */
const healed: Story = async (fleet, user, lost) => {
  await user.create()
  await user.follow()
  await whole(fleet)
  const { uid } = (await fleet.world.podOf(user.username)).metadata
  const { redis, keys } = fleet.world
  await redis.set(keys.last, poison)
  await redis.hset(keys.record(user.username), 'op', poison)
  const landed = lost()
  const { code, err } = await heal(fleet, '--apply')
  // A command's audit log goes to standard error.
  const words = err.split('\n').filter(line => line !== '' && !line.startsWith('{"log":"audit",'))
  expect([code, ...words]).toEqual([0])
  await landed
  expect(Number(await redis.get(keys.last))).toBeLessThan(poison)
  await expectSameLab(fleet, user, uid)
}

async function expectSameLab(fleet: Fleet, user: Client, uid: string): Promise<void> {
  const runs = async () => (await user.userStatus()).body.status === 'running'
  await eventually('a running lab', runs, recoveryMs)
  expect((await fleet.world.podOf(user.username)).metadata.uid).toBe(uid)
  await whole(fleet)
}

/** Each command with the story that sends it. Compares and clocks have a fleet of their own. */
const ofOperations: readonly (readonly [string, Story])[] = [
  ...['accept-create', 'claim-operation', 'commit-step', 'extend-leases', 'finish-operation'].map(
    command => [command, creation] as const,
  ),
  ...['accept-delete', 'claim-operation', 'commit-step', 'finish-operation'].map(
    command => [command, deletion] as const,
  ),
]
const ofReading = [
  'read-doubt',
  'take-notes',
  'drop-notes',
  'look-operations',
  'read-events',
  'read-subject',
  'list-running',
]
const ofCompares = [
  'begin-compare',
  'read-record',
  'settle-lab',
  'end-compare',
  'renew-lease',
  'return-lease',
  'free-overlong',
]
const others: readonly (readonly [string, Story])[] = [
  // First, since a replica publishes a digest only when it is new.
  ['remember-digest', creation],
  ...ofReading.map(command => [command, creation] as const),
  ['settle-pod', podFails],
  ['count-subjects', scrape],
  ['release-lease', handOver],
  ['check-rights', restart],
  ...ofCompares.map(command => [command, compare] as const),
  ['doubt-compare', doubted],
  ...['survey-subject', 'heal-subject', 'heal-counter'].map(command => [command, healed] as const),
  ['free-lease', stillBeat],
]

async function loseReplies(trial: Trial, fleet: Fleet, stories: typeof others): Promise<void> {
  const users: Client[] = []
  for (const [command, story] of stories) {
    const user = fleet.user()
    users.push(user)
    await whole(fleet)
    trial.injected()
    const lost = () => loseReplyTo(fleet, command).then(() => trial.landed())
    await story(fleet, user, lost).catch(error => {
      throw new Error(`${command}: ${error.message}`, { cause: error })
    })
  }
  await wave.expectNothingLeft(fleet, users)
}

attack(
  'T11 reply lost after apply',
  async trial => loseReplies(trial, await trial.fleet({ proxies: 'open', config: patient }), ofOperations),
  {
    concurrent: true,
  },
)

test('the table of T11 has a story for each command when one is added', () => {
  const covered = new Set(
    [...ofOperations, ...others]
      .map(([command]) => command)
      .concat(commandsOfPrepulling, commandsOfTenants, commandsOfIdleness, commandsOfApps, commandsOfDispatch),
  )
  expect(allCommands.filter(command => !covered.has(command))).toEqual([])
})

async function loseOthers(trial: Trial): Promise<void> {
  const fleet = await trial.fleet({ proxies: 'open', redis: { wrongClock: true }, config: patient })
  fleet.expects({ redisLoss: true, clocksStep: true })
  await loseReplies(trial, fleet, others)
}

if (isWhole)
  attack('T11 reply lost after apply, of every other command', loseOthers, { concurrent: true, limitMs: 240_000 })
