/** Engines by a real podman, and by a real docker where there is one: images, namespaces and control groups. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pushLayout } from '../../../dev/image/push.ts'
import type { RunSpec } from '../../../src/dispatch/protocol.ts'
import { tunnelKey } from '../../../src/dispatch/tunnel.ts'
import { hasDockerRegistry, startDockerRegistry } from '../../kit/images/docker-registry.ts'
import { faults, LocalServer } from '../../kit/images/server.ts'
import { specOf, TestMachine, uuidOf, warrantOf } from '../../kit/runner/machine.ts'
import { canRunDocker, canRunPodman, RealEngine, tinyImage } from '../../kit/runner/real-engine.ts'
import { exec, forward, shellAt } from '../../kit/runner/shell.ts'

const mib = 2 ** 20
const uuid = uuidOf(1)
const patience = { timeout: 60_000, interval: 200 }
const bytes = randomBytes(mib)

const engines = [...(canRunPodman ? (['podman'] as const) : []), ...(canRunDocker ? (['docker'] as const) : [])]

async function attachedBy(engine: RealEngine, env: Readonly<Record<string, string>> = {}) {
  const machine = await TestMachine.make({ env: { SKYLAB_RUNNER_ENGINE: engine.name, ...engine.env, ...env } })
  const connected = await machine.attach(7)
  return {
    machine,
    connected,
    folder: join(machine.dir, 'runs', `${uuid}.1`),
    start: (script: string, more: Partial<RunSpec> = {}) =>
      connected.keeper.start(warrantOf(uuid, 1, specOf(script, { image: tinyImage, ...more }))),
    nothingIsLeft: () => expect.poll(() => engine.left(machine.id), patience).toEqual([]),
    end: async () => {
      const { entry } = await connected.end(uuid, 1)
      return entry.kind === 'ended' ? entry.end : undefined
    },
    says: (text: string) => connected.until(() => connected.output(uuid, 1).includes(text)),
    /** A runner's client must not be killed amid its work. */
    [Symbol.asyncDispose]: async () => {
      await expect.poll(() => engine.left(machine.id), patience).toEqual([])
      await machine[Symbol.asyncDispose]()
    },
  }
}

/** Command lines and names of files of this machine with a text, until it is told that this is enough. */
async function shownWhile(text: string, work: Promise<unknown>): Promise<string[]> {
  let isOver = false
  const over = () => {
    isOver = true
  }
  void work.then(over, over)
  const found = new Set<string>()
  while (!isOver) {
    for (const pid of readdirSync('/proc').filter(name => /^\d+$/.test(name))) {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
        if (line.includes(text)) found.add(line)
      } catch {
        // It has ended.
      }
    }
    await setImmediate()
  }
  return [...found]
}

describe.each(engines)('the engine %s', name => {
  let engine: RealEngine
  beforeAll(async () => {
    engine = await RealEngine.make(name, { '/bytes': bytes })
  })
  afterAll(async () => {
    const mounts = engine?.mounts()
    await engine?.stop()
    expect(mounts).toEqual([])
  })
  const attached = (env?: Readonly<Record<string, string>>) => attachedBy(engine, env)

  test('runs a command with its arguments, variables, folder and mounts, and removes the container', async () => {
    await using run = await attached()
    const environment = {
      ...{ PASSWORD: 'hunter2-of-ada', KEY: 'two\nlines', QUOTED: ` "a' #b$c`, WIDE: '語'.repeat(32_000) },
    }
    const script =
      'printf "<%s>" "$@"; echo "$PASSWORD|$KEY|$QUOTED|$SKYLAB_CONTAINER_RUN|$(printf "$WIDE" | wc -c)"; ' +
      'id -u; echo kept > file; cat file; cd /; ls /a/scratch; exit 3'
    const command = ['sh', '-c', script, 'sh', '-a', 'b c', '', '$HOME', '*']
    const mounts = { '/a/scratch': { kind: 'tmp', capacity: 1 }, '/b': { kind: 'tmp', capacity: 1 } } as const
    await run.start('', { command, environment, mounts, cwd: '/a/scratch', ramBytes: 64 * mib })
    const shown = await shownWhile('hunter2', run.end())
    expect(await run.end()).toEqual({ exitCode: 3 })
    expect(run.connected.output(uuid, 1)).toBe(
      `<-a><b c><><$HOME><*>hunter2-of-ada|two\nlines| "a' #b$c|1|96000\n1000\nkept\nfile\n`,
    )
    expect(shown).toEqual([])
    await run.nothingIsLeft()
    await expect.poll(() => readdirSync(run.folder), patience).not.toContain('mounts')
    expect(readdirSync(run.folder)).not.toContain('environment')
  })

  test('passes a mebibyte of any bytes on, at standard output and standard error', async () => {
    await using run = await attached()
    await run.start('cat /bytes; cat /bytes >&2')
    expect(await run.end()).toEqual({ exitCode: 0 })
    const told = run.connected.told.flatMap(({ entry }) => (entry.kind === 'output' ? [entry] : []))
    for (const stream of ['stdout', 'stderr']) {
      const pieces = told.filter(entry => entry.stream === stream).map(entry => Buffer.from(entry.base64, 'base64'))
      expect(Buffer.concat(pieces).equals(bytes)).toBe(true)
    }
  })

  test('ends a command that takes more memory than it asked for, and says so', async () => {
    await using run = await attached()
    await run.start('x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done', { ramBytes: 32 * mib })
    expect(await run.end()).toEqual({ exitCode: 137, reason: 'out of memory' })
    await run.nothingIsLeft()
  })

  test('tells of a signal by the exit code when the command is killed from outside', async () => {
    await using run = await attached()
    await run.start('echo up; sleep 60; sleep 60', { ramBytes: 64 * mib })
    await run.says('up')
    const [id] = await engine.left(run.machine.id)
    await engine.ask('kill', id!)
    expect(await run.end()).toEqual({ exitCode: 137 })
  })

  test('ends a command that runs too long', async () => {
    await using run = await attached()
    await run.start('sleep 60; sleep 60', { maxRunSeconds: 1 })
    expect(await run.end()).toEqual({ exitCode: 137, reason: 'it ran too long', timedOut: true })
    await run.nothingIsLeft()
  })

  test('lets a command end by itself when it is killed', async () => {
    await using run = await attached({ SKYLAB_RUNNER_GRACE_MS: '60000' })
    await run.start('trap "echo bye; exit 5" TERM; echo up; while :; do sleep 0.1; done')
    await run.says('up')
    await run.connected.keeper.kill(uuid, 1)
    expect(await run.end()).toEqual({ exitCode: 5, reason: 'killed' })
    expect(run.connected.output(uuid, 1)).toBe('up\nbye\n')
  })

  test('lets a person run commands in the container, and says that a port has no network', async () => {
    await using run = await attached()
    const key = tunnelKey('the token of this installation, of tests', uuid, 1)
    const spec = specOf('echo up; sleep 60', {
      image: tinyImage,
      cwd: '/tmp',
      environment: { WORD: 'of the container' },
    })
    await run.connected.keeper.start(warrantOf(uuid, 1, spec), key)
    await run.says('up')
    const { entry } = await run.connected.running(uuid, 1)
    const { gatewayPort = 0, gatewayPin = '' } = entry as { gatewayPort?: number; gatewayPin?: string }
    const client = await shellAt({ address: `127.0.0.1:${gatewayPort}`, pin: gatewayPin, keys: [key] })
    const channel = await exec(client, 'echo "$WORD"; id -u; ls /; cat; exit 3')
    channel.end('by its input')
    const exit = once(channel, 'exit')
    expect(await text(channel)).toMatch(/^of the container\n1000\nbin\nbytes\ndev\n(.*\n)*by its input$/)
    expect((await exit)[0]).toBe(3)
    await expect(forward(client, 'localhost', 80)).rejects.toThrow('(SSH) Channel open failure')
    client.destroy()
    await run.connected.keeper.kill(uuid, 1)
    await run.end()
    await run.nothingIsLeft()
  })

  test('kills the container by its labels when its supervisor is lost, and starts no other one beside', async () => {
    await using run = await attached()
    await run.start('trap "" TERM; echo up; sleep 60; sleep 60')
    await run.says('up')
    process.kill(run.machine.supervisorOf(uuid), 'SIGKILL')
    expect(await run.end()).toEqual({ reason: 'the supervisor was lost' })
    expect(await engine.left(run.machine.id)).toEqual([])
    expect(await run.connected.keeper.list()).toMatchObject({ broken: `the supervisor of ${uuid} was lost` })
    const next = warrantOf(uuid, 2, specOf('true', { image: tinyImage }))
    await expect(run.connected.keeper.start(next)).rejects.toMatchObject({ why: 'broken' })
  })

  test('leaves another container alone when that has its name', async () => {
    await using run = await attached()
    const name = `skylab-${run.machine.id}-${uuid}-1`
    await engine.ask('create', '--name', name, tinyImage, 'true')
    await run.start('true')
    expect(await run.end()).toEqual({ reason: expect.stringMatching(/could not be made: .*already in use/) })
    expect(await engine.ask('ps', '--all', '--filter', `name=${name}`, '--format', '{{.Names}}')).toBe(name)
    await engine.ask('rm', name)
  })

  const closed = '127.0.0.1:1/none/x:1'
  test.each<[string, Partial<RunSpec>, RegExp]>([
    [
      'its program is not in the image',
      { command: ['nothere'] },
      /could not be started: .*"nothere": executable file not/,
    ],
    ['it has less memory than any container', { ramBytes: 100 }, /memory/],
    ['its image cannot be had', { image: closed }, /could not be pulled: Error.*connection refused/],
    ['its image is a folder of the machine', { image: 'dir:/root' }, /^the image is not one of a registry$/],
  ])('a container does not run when %s', async (_, more, reason) => {
    await using run = await attached()
    await run.start('true', more)
    expect(await run.end()).toEqual({ reason: expect.stringMatching(reason) })
    await run.nothingIsLeft()
  })

  test('a container does not run when its engine is not there', async () => {
    await using run = await attached({ PATH: '/nonexistent' })
    await run.start('true')
    expect(await run.end()).toEqual({ reason: `there is no ${name} here` })
  })

  test('a container does not run when its engine refuses', async () => {
    writeFileSync(join(engine.folder, 'refusing.conf'), '[storage]\ndriver = "none"\n')
    const refusing = {
      CONTAINERS_STORAGE_CONF: join(engine.folder, 'refusing.conf'),
      DOCKER_HOST: 'unix:///nonexistent',
    }
    await using run = await attached(refusing)
    await run.start('true')
    const words = /could not be pulled: .*(runroot must be set|Cannot connect to the Docker daemon)/
    expect(await run.end()).toEqual({ reason: expect.stringMatching(words) })
  })

  test('a folder that the image lacks is made by docker, and refused by podman', async () => {
    await using run = await attached()
    await run.start('true', { cwd: '/nowhere' })
    const reason = expect.stringMatching(/could not be started: .*workdir "\/nowhere" does not exist/)
    expect(await run.end()).toEqual(name === 'docker' ? { exitCode: 0 } : { reason })
    await run.nothingIsLeft()
  })

  test.skipIf(!hasDockerRegistry)('an image of a registry is pulled, and one that it lacks is named', async () => {
    const registry = await startDockerRegistry()
    try {
      await pushLayout({ layout: engine.layout, registry: registry.address, repository: 'a/tiny', tags: ['1'] })
      await using run = await attached()
      await run.start('echo pulled', { image: `${registry.address}/a/tiny:1` })
      expect(await run.end()).toEqual({ exitCode: 0 })
      expect(run.connected.output(uuid, 1)).toBe('pulled\n')
      await using other = await attached()
      await other.start('true', { image: `${registry.address}/a/none:1` })
      expect(await other.end()).toEqual({ reason: expect.stringMatching(/could not be pulled: .*manifest unknown/) })
    } finally {
      await registry.stop()
    }
  })

  test('an image is given up when the registry does not answer in time', async () => {
    const registry = await LocalServer.start(faults.never)
    await using run = await attached({ SKYLAB_RUNNER_PULL_MS: '1000' })
    await run.start('true', { image: `${registry.host}/a/tiny:2` })
    expect(await run.end()).toEqual({ reason: 'the image could not be pulled within 1 s' })
    await registry.stop()
  })

  test('an image is pulled no further when its container is killed', async () => {
    const registry = await LocalServer.start(faults.never)
    await using run = await attached({ SKYLAB_RUNNER_GRACE_MS: '60000' })
    await run.start('true', { image: `${registry.host}/a/tiny:3` })
    await registry.whenAsked(1)
    await run.connected.keeper.kill(uuid, 1)
    expect(await run.end()).toEqual({ reason: 'killed' })
    await registry.stop()
  })
})
