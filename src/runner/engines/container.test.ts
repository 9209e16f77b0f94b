import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { specOf, TestMachine, uuidOf, warrantOf } from '../../../test/kit/runner/machine.ts'
import type { RunSpec } from '../../dispatch/protocol.ts'

const fake = fileURLToPath(new URL('../../../test/kit/runner/fake-engine.mjs', import.meta.url))
const uuid = uuidOf(1)
let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'skylab-fake-engine-'))
  mkdirSync(join(root, 'bin'))
  copyFileSync(fake, join(root, 'bin', 'docker'))
})
afterEach(() => rmSync(root, { recursive: true }))

const make = () =>
  TestMachine.make({
    env: {
      SKYLAB_RUNNER_ENGINE: 'docker',
      FAKE_ENGINE: root,
      PATH: `${join(root, 'bin')}${delimiter}${process.env.PATH}`,
    },
  })
const spec = (script: string, more: Partial<RunSpec> = {}) => specOf(script, { image: 'example/tool:1', ...more })
const said = () => readFileSync(join(root, 'said'), 'utf8')
const containers = () => readdirSync(join(root, 'containers'))

describe('a container', () => {
  it('is run, and removed once its end is stored', async () => {
    await using machine = await make()
    const connected = await machine.attach(7)
    const environment = { PASSWORD: 'hunter2', KEY: 'two\nlines' }
    const script = 'echo "$PASSWORD $KEY $SKYLAB_CONTAINER_RUN"; exit 3'
    const mounts = { '/scratch': { kind: 'tmp', capacity: 1 } } as const
    await connected.keeper.start(warrantOf(uuid, 1, spec(script, { environment, mounts, cwd: '/', ramBytes: 1000 })))
    expect((await connected.end(uuid, 1)).entry).toMatchObject({ end: { exitCode: 3 } })
    expect(connected.output(uuid, 1)).toBe('hunter2 two\nlines 1\n')
    await connected.until(() => containers().length === 0 || undefined)
    expect(said()).toMatch(
      /create --name \S+ --log-driver none .*--env KEY .*--memory=1000 --memory-swap=1000 --workdir=\/ --mount=type=bind/,
    )
    expect(said()).not.toMatch(/hunter2|two/)
  })

  it('is removed when its end was acknowledged, and its folder removed, before that', async () => {
    await using machine = await make()
    const connected = await machine.attach(7)
    const hold = machine.failpoints.arm('runner.supervise.ended', 'hold')
    await connected.keeper.start(warrantOf(uuid, 1, spec('true')))
    connected.ack(await connected.end(uuid, 1))
    // It was heard once this is answered.
    await connected.keeper.list()
    expect([readdirSync(join(machine.dir, 'runs')), containers().length]).toEqual([[], 1])
    hold.release()
    await expect.poll(containers, { timeout: 20_000 }).toEqual([])
  })

  it('has an end with the words of the engine when its image cannot be pulled', async () => {
    await using machine = await make()
    const connected = await machine.attach(7)
    await connected.keeper.start(warrantOf(uuid, 1, spec('true', { image: 'example/none' })))
    expect((await connected.end(uuid, 1)).entry).toMatchObject({
      end: { reason: 'the image could not be pulled: no such image' },
    })
  })

  it('has an end when its engine is not there', async () => {
    await using machine = await make()
    rmSync(join(root, 'bin'), { recursive: true })
    const connected = await machine.attach(7)
    await connected.keeper.start(warrantOf(uuid, 1, spec('true')))
    const { entry } = await connected.end(uuid, 1)
    expect(entry).toMatchObject({ kind: 'ended', end: { reason: expect.any(String) } })
  })

  it('is killed after the grace when it ignores SIGTERM', async () => {
    await using machine = await make()
    const connected = await machine.attach(7)
    await connected.keeper.start(warrantOf(uuid, 1, spec('trap "" TERM; echo up; sleep 60; sleep 60')))
    await connected.until(() => connected.output(uuid, 1) === 'up\n')
    await connected.keeper.kill(uuid, 1)
    expect((await connected.end(uuid, 1)).entry).toMatchObject({ end: { exitCode: 137, reason: 'killed' } })
    expect(said()).toContain('kill --signal TERM')
  })

  it.each([['kill'], ['kill and ps']])(
    'is killed by a later SIGKILL when its engine refuses %s once',
    async refused => {
      await using machine = await make()
      const connected = await machine.attach(7)
      for (const command of refused.split(' and ')) writeFileSync(join(root, `refuse-${command}`), '')
      await connected.keeper.start(warrantOf(uuid, 1, spec('trap "" TERM; echo up; sleep 60; sleep 60')))
      await connected.until(() => connected.output(uuid, 1) === 'up\n')
      await connected.keeper.kill(uuid, 1)
      expect((await connected.end(uuid, 1)).entry).toMatchObject({ end: { exitCode: 137, reason: 'killed' } })
      expect(readdirSync(root).filter(name => name.startsWith('refuse-'))).toEqual([])
    },
  )

  it('never begins when it is killed before its start has reached the engine', async () => {
    await using machine = await make()
    const connected = await machine.attach(7)
    writeFileSync(join(root, 'hold-start'), '')
    await connected.keeper.start(warrantOf(uuid, 1, spec('echo up; sleep 60')))
    await connected.running(uuid, 1)
    await connected.keeper.kill(uuid, 1)
    await expect.poll(containers, { timeout: 20_000 }).toEqual([])
    rmSync(join(root, 'hold-start'))
    expect((await connected.end(uuid, 1)).entry).toMatchObject({ end: { reason: 'killed' } })
    expect(connected.output(uuid, 1)).not.toContain('up')
  })

  it.each(['dir:/root', 'docker-archive:/root/a.tar', 'oci:a', 'a/b:c:d'])(
    'does not run when its image is %s, which no registry has',
    async image => {
      await using machine = await make()
      const connected = await machine.attach(7)
      await connected.keeper.start(warrantOf(uuid, 1, spec('true', { image })))
      const reason = 'the image is not one of a registry'
      expect((await connected.end(uuid, 1)).entry).toMatchObject({ end: { reason } })
    },
  )

  it.each(['busybox', 'a.example:5000/b/c:d', `a/b@sha256:${'0'.repeat(64)}`, 'localhost/tiny:1'])(
    'runs when its image is %s',
    async image => {
      await using machine = await make()
      const connected = await machine.attach(7)
      writeFileSync(join(root, 'pulled'), '')
      await connected.keeper.start(warrantOf(uuid, 1, spec('true', { image })))
      await connected.end(uuid, 1)
      expect(said()).toContain(`image inspect ${image}\n`)
    },
  )

  it('gets long values by its client, whose file has room for 64 KiB a line', async () => {
    await using machine = await make()
    const connected = await machine.attach(7)
    const environment = { LONG: 'x'.repeat(70_000), SHORT: 'y' }
    await connected.keeper.start(warrantOf(uuid, 1, spec('echo "$SHORT$LONG" | wc -c', { environment })))
    expect((await connected.end(uuid, 1)).entry).toMatchObject({ end: { exitCode: 0 } })
    expect(connected.output(uuid, 1).trim()).toBe('70002')
    expect(said()).toMatch(/--env LONG /)
    expect(said()).not.toMatch(/--env SHORT /)
  })

  it('is removed when its supervisor is lost', async () => {
    await using machine = await make()
    const connected = await machine.attach(7)
    await connected.keeper.start(warrantOf(uuid, 1, spec('echo up; sleep 60')))
    await connected.until(() => connected.output(uuid, 1) === 'up\n')
    process.kill(machine.supervisorOf(uuid), 'SIGKILL')
    expect((await connected.end(uuid, 1)).entry).toMatchObject({ end: { reason: 'the supervisor was lost' } })
    expect(containers()).toEqual([])
    // Podman's `rm --force` alone asks a container to end, and waits for ten seconds.
    expect(said()).toMatch(/\nkill (\S+)\n(.*\n)*rm --force --volumes \1\n/)
  })
})
