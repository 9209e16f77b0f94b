/** Owners die or hang at the worst moments of labs whose containers a real kubelet starts, each exactly once. */
import { expect } from 'vitest'
import { attack, type Trial } from '../../kit/attack/attack.ts'
import { eventually } from '../../kit/cluster/world.ts'
import type { Client } from '../../kit/fleet/client.ts'
import type { Fleet } from '../../kit/fleet/fleet.ts'
import { killComparer, stopComparer } from './comparing.ts'
import { isWhole, worstPoints } from './points.ts'
import { verdicts } from './stale.ts'
import { strikeSuperseded } from './superseding.ts'
import * as wave from './wave.ts'

const owners = [0, 1]
const heirs = [2, 3]

/** One node has room for all, and gets time to start them: a lab runs when it answers on its port. */
const size = { limits: { cpu: 0.2, memory: '256Mi' } }
const fleetOptions = {
  ...wave.waveFleet,
  replicas: 4,
  config: {
    ...wave.waveFleet.config,
    lab: {
      sizes: { small: size, medium: size, large: size },
      startupProbe: 'tcp' as const,
      command: ['python3', '-m', 'http.server', '8888'],
    },
  },
}

const few = /\.pod\.after-(send|act)$/
const points = () => worstPoints().filter(({ name }) => isWhole || few.test(name))

/** How often the kubelet started a lab's container, by its own events. */
async function startsOf(fleet: Fleet, username: string): Promise<number> {
  const [status] = (await fleet.world.podOf(username))?.status.containerStatuses ?? []
  if (!status) return 0
  const events = await fleet.world.kube.list(`/api/v1/namespaces/${fleet.namespace(username)}/events`)
  const started = events.filter(({ reason }) => reason === 'Started').map(({ count }) => Number(count ?? 1))
  return status.restartCount + started.reduce((sum, count) => sum + count, 0)
}

/** Wakes the stale owners, and waits until they give up. */
async function wake(fleet: Fleet, struck: readonly wave.Struck[]): Promise<void> {
  const owned = struck.filter(({ point }) =>
    /\.(owned|after-send|after-act|after-commit|before-commit)$/.test(point.name),
  )
  const ops = new Set(await Promise.all(owned.map(async ({ ended }) => (await ended).op)))
  const wokenAtMs = Date.now()
  for (const { arm } of struck) arm.release()
  await Promise.all(owners.map(index => fleet.kill(index, 'SIGCONT')))
  await eventually('every stale owner gives up', async () => {
    const known = await Promise.all(owners.map(index => verdicts(fleet, index, wokenAtMs)))
    return ops.difference(new Set(known.flatMap(verdict => [...verdict.keys()]))).size === 0
  })
}

async function strike(trial: Trial, signal: 'SIGKILL' | 'SIGSTOP'): Promise<void> {
  const fleet = await trial.fleet(fleetOptions)
  await Promise.all(heirs.map(index => fleet.kill(index)))
  trial.injected(points().length)
  const struck = await wave.hold(fleet, points(), owners, { through: fleet.url(heirs[0]!) })
  const pids = owners.map(index => fleet.replica(index).pid)
  await Promise.all(heirs.map(index => fleet.start(index)))
  const struckAtMs = Date.now()
  await Promise.all(owners.map(index => fleet.kill(index, signal)))
  if (signal === 'SIGKILL') await Promise.all(struck.map(each => wave.askAgain(fleet, each)))
  await Promise.all(struck.map(each => wave.expectEnded(fleet, each)))
  trial.landed(struck.filter(({ arm }) => pids.includes(arm.marks()[0]!.pid)).length)
  wave.expectInTime(trial, await wave.takeovers(fleet, struck, struckAtMs))
  if (signal === 'SIGSTOP') await wake(fleet, struck)
  const created = struck.filter(({ point }) => point.story === 'create')
  const starts = await Promise.all(created.map(({ user }) => startsOf(fleet, user.username)))
  expect(starts).toEqual(created.map(() => 1))
  // A deleted lab has no events any more: its one pod was made once, and never after the deletion.
  const pods = (await fleet.audit.writesOf(fleet.namespacePrefix)).filter(
    ({ verb, code, resource }) => verb === 'create' && code < 300 && resource === 'pods',
  )
  expect(pods).toHaveLength(struck.filter(({ point }) => point.story !== 'supersede').length)
  trial.figure('containerStarts', starts.length)
  await wave.expectNothingLeft(
    fleet,
    struck.map(({ user }) => user),
  )
}

/** Labs that ran all the time were not restarted. */
async function expectOneStart(fleet: Fleet, users: readonly Client[]): Promise<void> {
  expect(await Promise.all(users.map(user => startsOf(fleet, user.username)))).toEqual(users.map(() => 1))
}

attack('T1 kill -9 on a real kubelet', trial => strike(trial, 'SIGKILL'), { limitMs: 240_000 })

if (isWhole) {
  const { kubernetes: _, ...config } = fleetOptions.config
  const compared = { config }
  const patient = { config: fleetOptions.config }
  attack('T3 stop past the lease on a real kubelet', trial => strike(trial, 'SIGSTOP'), { limitMs: 240_000 })
  attack('T1 kill -9 while superseding on a real kubelet', trial => strikeSuperseded(trial, 'SIGKILL', patient))
  attack('T3 stop while superseding on a real kubelet', trial => strikeSuperseded(trial, 'SIGSTOP', patient))
  attack('T1 kill -9 in a compare on a real kubelet', trial => killComparer(trial, compared, expectOneStart))
  attack('T3 stop in a compare on a real kubelet', trial => stopComparer(trial, compared, expectOneStart))
}
