import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { connect } from '../../ssh/connect.ts'
import { someKey } from '../../ssh/testing/keys.ts'
import type { CloudCall, Driver, Instance, Intent } from '../driver.ts'
import { contractOf } from '../testing/contract.ts'
import { createLoopbackDriver } from './driver.ts'
import { endProcesses, isRunning, machineMark } from './processes.ts'
import { machineCommand } from './testing/command.ts'

/** Against hanging: processes start late on a busy machine. */
const soon = { timeout: 20_000 }

const ours = someKey()
const secret = 'a-secret-of-this-machine-0123456789'
const call: CloudCall = { signal: new AbortController().signal, agent: 'test/1/1' }
const newFolder = () => mkdtempSync(join(tmpdir(), 'skylab-loopback-'))

const at = (directory: string, set: string) =>
  createLoopbackDriver({ directory, sets: { tag: 'InstanceSetID', values: [set] }, launch: machineCommand })

const intentOf = (over: Pick<Intent, 'token' | 'tags'>): Intent => ({
  ...{ providerType: 'small', image: '', publicKey: ours.public, addedScratchBytes: 0, preemptible: false },
  initCommand: `umask 077; printf %s '${secret}' >/var/run/arvados-instance-secret`,
  ...over,
})

contractOf('loopback', async () => {
  const folder = newFolder()
  const driver = (set: string) => at(folder, set)
  const foreigners: string[] = []
  return {
    driver,
    intent: intentOf,
    foreign: async () => {
      const intent = intentOf({ token: randomBytes(8).toString('hex'), tags: { Name: 'foreign' } })
      const { id } = await driver('').create(intent, [], call)
      foreigners.push(join(folder, id))
      const process = () => join(folder, id, 'process')
      await expect.poll(() => existsSync(process()), soon).toBe(true)
      const before = readFileSync(process(), 'utf8')
      const tagsOf = () =>
        readdirSync(join(folder, id, 'tags')).map(name => readFileSync(join(folder, id, 'tags', name), 'utf8'))
      const isUntouched = async () => isRunning(before) && tagsOf().join() === '["Name","foreign"]'
      return { id, isUntouched }
    },
    close: async () => {
      for (const each of foreigners) await endProcesses(each)
      rmSync(folder, { recursive: true, force: true })
    },
  }
})

describe('a loopback machine', () => {
  let folder: string
  let driver: Driver
  beforeAll(() => {
    folder = newFolder()
    driver = at(folder, 'ours')
  })
  afterEach(async () => {
    for (const { id } of await driver.list(call)) await driver.destroy(id, call)
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  const intent = () => intentOf({ token: randomBytes(8).toString('hex'), tags: { InstanceSetID: 'ours' } })
  const running = async (of = intent()): Promise<Instance & { address: string }> => {
    const { id } = await driver.create(of, [], call)
    const found = async () => (await driver.find(id, call)) as Instance & { address: string }
    await expect.poll(async () => (await found()).state, { timeout: 20_000 }).toBe('running')
    return found()
  }
  const to = ({ address }: { address: string }, key = ours.key) =>
    connect({ address, key, secret, agent: 'test/1/1', signal: new AbortController().signal })
  const processesOf = (id: string) =>
    readdirSync('/proc').filter(pid => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`${machineMark}=${join(folder, id)}`)
      } catch {
        return false
      }
    })

  test('proves itself by SSH, and runs commands with its own places', async () => {
    const instance = await running()
    const machine = await to(instance)
    expect(await machine.probe('true')).toEqual({ isReady: true, words: '' })
    const { stdout } = await machine.exec('echo $SKYLAB_RUNNER_DIR; cat $SKYLAB_INSTANCE_SECRET_FILE; exit 3')
    expect(stdout).toBe(`${join(folder, instance.id, 'lib')}\n${secret}`)
    expect(await machine.exec('echo why >&2; exit 3')).toMatchObject({ exitCode: 3, words: 'why' })
    expect((await machine.exec('kill -9 $$')).exitCode).toBe(undefined)
    const channel = await machine.channel('cat')
    channel.end('both ways')
    expect((await channel.toArray()).join('')).toBe('both ways')
    machine.close()
  })

  test('lets nobody in with another key', async () => {
    await expect(to(await running(), someKey().key)).rejects.toMatchObject({ name: 'Refused' })
  })

  test('shows no secret in arguments or environments, and keeps its init command no longer than needed', async () => {
    const { id } = await running()
    for (const pid of processesOf(id)) {
      expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8')).not.toContain(secret)
      expect(readFileSync(`/proc/${pid}/environ`, 'utf8')).not.toContain(secret)
    }
    expect(processesOf(id).length).toBeGreaterThan(0)
    expect(readdirSync(join(folder, id))).not.toContain('init')
  })

  test('ends with all that it started, also what hides its environment', async () => {
    const instance = await running()
    const machine = await to(instance)
    const pids = join(folder, 'pids')
    const sleeper = `sh -c 'echo $$ >>${pids}; exec sleep 1000'`
    await machine.exec(
      `exec >/dev/null 2>&1; setsid sh -c "env -i PATH=$PATH setsid ${sleeper} & wait" & setsid ${sleeper} &`,
    )
    const read = () => (existsSync(pids) ? readFileSync(pids, 'utf8').trim().split('\n') : [])
    await expect.poll(read, soon).toHaveLength(2)
    const sleepers = read()
    await driver.destroy(instance.id, call)
    expect(processesOf(instance.id)).toEqual([])
    expect(sleepers.filter(pid => existsSync(`/proc/${pid}/cwd`))).toEqual([])
    expect(
      machine.ended.aborted || (await new Promise(resolve => machine.ended.addEventListener('abort', resolve))),
    ).toBeTruthy()
  })

  test('is gone when its process was killed, with what it left', async () => {
    const instance = await running()
    const machine = await to(instance)
    await machine.exec('setsid sleep 1000 >/dev/null 2>&1 &')
    const [pid] = readFileSync(join(folder, instance.id, 'process'), 'utf8').split(' ')
    process.kill(Number(pid), 'SIGKILL')
    await expect
      .poll(async () => (await driver.find(instance.id, call)) as Instance, soon)
      .toMatchObject({ state: 'gone' })
    expect(processesOf(instance.id)).toEqual([])
  })

  test('is stopping when its process was killed and what it left cannot be ended', async () => {
    const { id } = await running()
    const [pid] = readFileSync(join(folder, id, 'process'), 'utf8').split(' ')
    const inTheWay = join(folder, id, 'stopping')
    symlinkSync('/nowhere/at/all', inTheWay)
    process.kill(Number(pid), 'SIGKILL')
    await expect.poll(async () => driver.find(id, call), soon).toMatchObject({ state: 'stopping' })
    rmSync(inTheWay)
  })

  test('is in a session of its own, so it outlives the replica that made it', async () => {
    const { id } = await running()
    const [pid = ''] = readFileSync(join(folder, id, 'process'), 'utf8').split(' ')
    expect(execFileSync('ps', ['-o', 'sid=', '-p', pid], { encoding: 'utf8' }).trim()).toBe(pid)
  })
})
