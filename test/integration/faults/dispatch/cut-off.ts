/** dispatch V1: a machine that nobody can reach, and a Redis that went back: its containers begin nowhere else without proof. */
import { cpSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../../../src/base/clock.ts'
import { createLoopbackDriver } from '../../../../src/clouds/loopback/driver.ts'
import { files } from '../../../../src/clouds/loopback/folder.ts'
import { initCommand } from '../../../../src/machines/init-command.ts'
import type { Trial } from '../../../kit/attack/attack.ts'
import { builtProgram } from '../../../kit/program/program.ts'
import { testBed } from '../../../kit/testbed.ts'
import { attackInFull } from '../in-full.ts'
import { insist, Site, serverOf, until } from './shared.ts'

const isStopped = (pid: number) => /^.*\) T /s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))

attackInFull(
  'dispatch V1 cut off',
  async trial => {
    const site = await Site.start(trial, { cloud: { TimeoutProbe: '5s' } })
    const { fleet } = site
    const uuid = await site.submit({ restarts: 1 })
    await site.running(uuid)
    const { instance } = await site.machineOf(uuid)
    // Meanwhile the container may begin elsewhere, if unreachable was taken for gone.
    const destroy = fleet.failpoints.arm('instance.create.destroy.before-act', 'hold')
    trial.injected()
    const server = serverOf(site, instance)
    process.kill(server, 'SIGSTOP')
    await until(() => isStopped(server)).toBe(true)
    trial.landed()
    await destroy.landed()
    // The scheduler has gone on since.
    const other = await site.submit()
    await site.begun(other)
    site.witness.letGo(other)
    await until(() => site.stateOf(other)).toBe('Complete')
    if (site.witness.begins(uuid).length !== 1) trial.violation(`V1 began elsewhere without proof: ${uuid}`)
    destroy.release()
    await site.begun(uuid, 2)
    await site.judge()
  },
  { concurrent: true },
)

attackInFull(
  'dispatch V1 Redis went back behind an assignment',
  async trial => {
    const site = await Site.start(trial, { aof: true })
    const { fleet } = site
    const file = join(fleet.stateDir, `redis-${fleet.redis.port}`)
    // The schedulers wait, so the copy has containers that only wait.
    const held = fleet.failpoints.arm('schedule.read', 'hold', { times: null, group: 'schedule' })
    await held.landed()
    const uuids = [await site.submit(), await site.submit()]
    cpSync(file, `${file}.copy`, { recursive: true })
    held.disarm()
    held.release()
    for (const uuid of uuids) await site.running(uuid)
    // So that nobody can ask them for a while.
    const machines = await Promise.all(uuids.map(uuid => site.machineOf(uuid)))
    const servers = machines.map(({ instance }) => serverOf(site, instance))
    for (const server of servers) process.kill(server, 'SIGSTOP')
    trial.injected()
    await fleet.redis.kill()
    rmSync(file, { recursive: true })
    cpSync(`${file}.copy`, file, { recursive: true })
    await fleet.redis.start()
    if ((await fleet.client.hget(`{${fleet.name}}:container:${uuids[0]}`, 'state')) === 'Queued') trial.landed()
    // The scheduler goes on with what is newer than all that was found.
    const other = await insist(() => site.submit())
    await site.begun(other)
    for (const server of servers) process.kill(server, 'SIGCONT')
    for (const uuid of uuids) await site.running(uuid)
    await site.judge()
  },
  { concurrent: true },
)

/** As a cloud makes it that does not honour tokens. */
async function makeAgain({ fleet }: Site, instance: string): Promise<string> {
  const first = (await fleet.cloud.read(instance))!
  const read = (file: string) => readFileSync(fleet.cloud.pathOf(instance, file), 'utf8')
  const sets = { tag: 'ArvadosInstanceSetID', values: [first.tags.ArvadosInstanceSetID!] }
  const program = [process.execPath, builtProgram(testBed().stateDir).program, 'loopback-machine']
  const driver = createLoopbackDriver({ directory: fleet.cloud.folder, sets, launch: program, clock: systemClock })
  const intent = {
    ...{ token: 'again', providerType: first.providerType, image: '', tags: first.tags, addedScratchBytes: 0 },
    ...{ initCommand: initCommand(read(files.secret), ''), publicKey: read(files.authorizedKey), preemptible: false },
  }
  const call = { signal: new AbortController().signal, agent: 'somebody' }
  return (await driver.create(intent, [], call)).id
}

attackInFull(
  'dispatch V1 two machines of one intent',
  async (trial: Trial) => {
    const site = await Site.start(trial)
    const uuid = await site.submit()
    await site.running(uuid)
    const { instance } = await site.machineOf(uuid)
    trial.injected()
    const twin = await makeAgain(site, instance)
    await until(async () => (await site.fleet.list()).map(brief => brief.instance)).toContain(twin)
    trial.landed()
    // It is of use: it runs another one, or ends.
    const other = await site.submit()
    await site.running(other)
    await site.judge()
  },
  { concurrent: true },
)
