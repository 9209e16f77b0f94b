/** From a creation to a container that runs, as a keeper does it: driver, SSH, installation, runner. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { bundleRunner } from '../../../dev/image/bundle.ts'
import { cgroupsNamed } from '../../../dev/process/cgroups.ts'
import { systemClock } from '../../base/clock.ts'
import { Attached } from '../../dispatch/attached.ts'
import type { Entry } from '../../dispatch/protocol.ts'
import { usualMounts } from '../../runner/engines/cgroups.ts'
import { machineId } from '../../runner/state/machine-id.ts'
import { connect } from '../../ssh/connect.ts'
import { runnerProgram } from '../../ssh/program.ts'
import { someKey } from '../../ssh/testing/keys.ts'
import type { CloudCall, Instance } from '../driver.ts'
import { createLoopbackDriver } from './driver.ts'
import { machineCommand } from './testing/command.ts'

const { signal } = new AbortController()
const call: CloudCall = { signal, agent: 'test/1/1' }
const secret = 'a-secret-of-this-machine-0123456789'
const uuid = 'zzzzz-dz642-000000000000001'

/** One file, as a path in `DeployRunnerBinary` names it: this Node need not be copied. */
async function someProgram(folder: string) {
  await bundleRunner(fileURLToPath(new URL('../../..', import.meta.url)), folder)
  const file = join(folder, 'skylab')
  writeFileSync(file, `#!/bin/sh\nexec ${process.execPath} ${join(folder, 'runner.cjs')} "$@"\n`)
  return runnerProgram({ deploy: file })
}

test('a machine of loopback runs a container, and leaves nothing of it when it is destroyed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'skylab-loopback-'))
  const driver = createLoopbackDriver({
    ...{ directory: join(folder, 'cloud'), launch: machineCommand },
    sets: { tag: 'InstanceSetID', values: ['ours'] },
  })
  const ours = someKey()
  try {
    const program = await someProgram(folder)
    const intent = {
      ...{ token: 'one', tags: { InstanceSetID: 'ours' }, providerType: 'small', image: '', publicKey: ours.public },
      ...{ addedScratchBytes: 0, preemptible: false },
      initCommand: `umask 077; printf %s '${secret}' >/var/run/arvados-instance-secret`,
    }
    const { id } = await driver.create(intent, [], call)
    const found = async () => (await driver.find(id, call)) as Instance
    await expect.poll(async () => (await found()).address, { timeout: 20_000 }).toBeDefined()
    const { address } = await found()
    const machine = await connect({ address: address!, key: ours.key, secret, agent: 'test/1/1', signal })
    const { command, skipped } = await machine.install(program)
    expect(skipped).toBe(false)
    const entries: Entry[] = []
    const link = new Attached({
      ...{ stream: await machine.channel(`${command} runner attach`), clock: systemClock, secret },
      ...{ onEntry: ({ entry }) => void entries.push(entry), onBeat: () => {}, onClosed: () => {} },
    })
    await link.hello(1)
    expect(await link.list()).toMatchObject({ runs: [] })
    // The first one is nobody's child by then.
    const shell = `(setsid sleep ${hidden} &); echo begun; setsid sleep 1000 & exec sleep 1000`
    const spec = { command: ['sh', '-c', shell], image: '', environment: {}, cwd: '', mounts: {} }
    const size = { vcpus: 1, ramBytes: 1e8, maxRunSeconds: 0 }
    await link.start({ uuid, run: 1, owner: 'ada', seal: '', spec: { ...spec, ...size } })
    const output = () =>
      entries.flatMap(entry => (entry.kind === 'output' ? [Buffer.from(entry.base64, 'base64')] : []))
    await expect.poll(() => Buffer.concat(output()).toString(), { timeout: 20_000 }).toBe('begun\n')
    expect(processesOf(folder)).not.toEqual([])
    expect(sleepersOf(hidden)).toHaveLength(1)
    const group = `skylab-${machineId(join(folder, 'cloud', id, 'lib'))}`
    expect(cgroupsNamed(group)).toHaveLength(canMakeGroups() ? 1 : 0)
    await driver.destroy(id, call)
    expect(processesOf(folder)).toEqual([])
    expect(cgroupsNamed(group)).toEqual([])
    if (canMakeGroups()) expect(sleepersOf(hidden)).toEqual([])
    expect((await found()).state).toBe('gone')
    expect(machine.ended.aborted || (await once(machine.ended))).toBe(true)
  } finally {
    for (const { id } of await driver.list(call)) await driver.destroy(id, call)
    rmSync(folder, { recursive: true, force: true })
  }
}, 60_000)

function canMakeGroups(): boolean {
  const mount = usualMounts.find(path => existsSync(join(path, 'cgroup.controllers')))
  if (mount === undefined) return false
  try {
    rmdirSync(mkdtempSync(join(mount, 'skylab-try-')))
    return true
  } catch {
    return false
  }
}

const once = (ended: AbortSignal) =>
  new Promise<boolean>(resolve => ended.addEventListener('abort', () => resolve(true)))

/** Seconds that no other test sleeps for. */
const hidden = String(100_000 + Math.floor(Math.random() * 900_000))

const sleepersOf = (seconds: string): string[] =>
  readdirSync('/proc').filter(pid => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8') === `sleep\0${seconds}\0`
    } catch {
      return false
    }
  })

/** By their folders: what a machine starts is in one of its own. */
function processesOf(folder: string): string[] {
  const mentions = (pid: string) =>
    ['environ', 'cmdline'].some(file => {
      try {
        return readFileSync(`/proc/${pid}/${file}`, 'utf8').includes(folder)
      } catch {
        return false
      }
    })
  return readdirSync('/proc').filter(pid => /^\d+$/.test(pid) && mentions(pid))
}
