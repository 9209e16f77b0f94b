/**
 * The engines `docker` and `podman`, by their command lines. Values of the environment are on no command line: a file that only
 * the owner reads has them, or the client's own environment where the file's form has no room for them.
 */
import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import type { RunEnd } from '../../dispatch/protocol.ts'
import { Client, type Said, type Saying, wordsOf } from './client.ts'
import { type Engine, type EngineContext, type InsideWish, identity, type Reached, type Running } from './engine.ts'
import { inTerminal } from './terminal.ts'

const label = (name: string, value: string | number) => `io.skylab.${name}=${value}`
/** Variables that steer the client itself. */
const ofClient = new RegExp(
  `^(${[
    ...['PATH', 'HOME', 'TMPDIR', 'LD_.*', 'GO[A-Z]+', 'XDG_.*', 'DBUS_.*', 'SSL_.*', 'LISTEN_.*', 'NOTIFY_.*'],
    ...['.*_PROXY', '.*_proxy', 'DOCKER_.*', '_?CONTAINER.*', 'PODMAN_.*', 'LIBPOD_.*', 'STORAGE_.*', 'REGISTRY_.*'],
    ...['BUILDAH_.*', 'SKYLAB_.*'],
  ].join('|')})$`,
)
/** Clients read no longer lines of a file of variables than 64 KiB. */
const longestLine = 60_000
/**
 * A name as registries have it. Podman would take some others for paths of the machine, such as `dir:/root`, which only root may
 * read.
 */
const imageForm = new RegExp(
  '^(?!(?:dir|oci|oci-archive|docker-archive|docker-daemon|containers-storage|ostree|sif|tarball):)' +
    '[A-Za-z0-9][A-Za-z0-9._-]*(?::[0-9]{1,5}(?=/))?(?:/[A-Za-z0-9._-]+)*(?::[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?' +
    '(?:@[a-z0-9]+:[0-9a-f]+)?$',
)
/** The file that conmon leaves in its working folder when memory was used up. Podman 4.3 looks for it elsewhere. */
const outOfMemoryMark = 'oom'
/** How it is in a network, and its addresses there. */
const networkForm = '{{.HostConfig.NetworkMode}}{{range .NetworkSettings.Networks}} {{.IPAddress}}{{end}}'

export class ContainerEngine implements Engine {
  readonly #context: EngineContext
  #client: Client
  #pulling: ChildProcess | undefined
  #creating: ChildProcess | undefined
  #isEnding = false

  constructor(context: EngineContext) {
    this.#context = context
    this.#client = new Client(context.engine, context.folder.path, context.clock)
  }

  async start(): Promise<Running> {
    await this.#pull()
    await this.#create()
    if (this.#isEnding) throw new Error('killed before it began')
    const { stdout, stderr, tail, exited } = await this.#client.stream(['start', '--attach', this.#name])
    return { stdout, stderr, process: {}, done: exited.then(() => this.#end(() => tail.words)) }
  }

  async terminate(): Promise<void> {
    this.#isEnding = true
    // Podman does not end a pull at SIGTERM. A `create` in progress ends soon, and completely.
    this.#pulling?.kill('SIGKILL')
    await this.#say(['kill', '--signal', 'TERM', this.#name])
  }

  async destroy(): Promise<boolean> {
    this.#isEnding = true
    this.#pulling?.kill('SIGKILL')
    this.#creating?.kill('SIGKILL')
    const { code } = await this.#say(['kill', this.#name])
    // Its start may be on its way: without it, that has no effect.
    if (code !== 0 && (await this.#status()) === 'created') await this.#say(['rm', '--force', this.#name])
    return (await this.#ids(['--filter', 'status=running', '--filter', 'status=paused'])).length === 0
  }

  async discard(): Promise<boolean> {
    // Podman's `rm --force` would let it run for ten seconds more.
    for (const id of await this.#ids(['--all'])) await this.#say(['kill', id])
    await this.clean()
    return (await this.#ids(['--all'])).length === 0
  }

  async clean(): Promise<void> {
    // The end may be acknowledged by now, and the folder gone.
    this.#client = new Client(this.#context.engine, '/', this.#context.clock)
    for (const id of await this.#ids(['--all'])) await this.#say(['rm', '--force', '--volumes', id])
    const { path } = this.#context.folder
    for (const name of ['environment', outOfMemoryMark]) rmSync(join(path, name), { force: true })
    rmSync(join(path, 'mounts'), { recursive: true, force: true })
  }

  /** In a network of the engine, or in that of the machine. */
  async reach(port: number): Promise<Reached> {
    const said = await this.#inspect(networkForm)
    expectSuccess(said, 'the container has no address')
    const [mode = '', ...addresses] = said.out.trim().split(' ')
    if (mode === 'host') return { host: '127.0.0.1', port }
    const host = addresses.find(address => isIP(address) !== 0)
    if (host === undefined) throw new Error('the container has no network that its machine reaches')
    return { host, port }
  }

  inside({ command, environment, size }: InsideWish): ChildProcessWithoutNullStreams {
    const names = Object.keys(environment).flatMap(name => ['--env', name])
    const words = ['exec', '--interactive', ...(size ? ['--tty'] : []), ...names, this.#name, ...command]
    const line = [this.#context.engine, ...words]
    const [program = '', ...args] = size ? inTerminal(line, size) : line
    return spawn(program, args, { stdio: 'pipe', detached: true, env: { ...process.env, ...environment } })
  }

  get #name(): string {
    const { warrant, machineId } = this.#context
    return `skylab-${machineId}-${warrant.uuid}-${warrant.run}`
  }

  get #environmentFile(): string {
    return join(this.#context.folder.path, 'environment')
  }

  async #pull(): Promise<void> {
    const { pullMs: limitMs, warrant } = this.#context
    const { image } = warrant.spec
    if (image === '') throw new Error('no image is named')
    if (!imageForm.test(image)) throw new Error('the image is not one of a registry')
    if ((await this.#say(['image', 'inspect', image])).code === 0) return
    const said = await this.#say(['pull', '--quiet', image], {
      limitMs,
      onSpawn: child => {
        this.#pulling = child
      },
    })
    if (said.isLate) throw new Error(`the image could not be pulled within ${limitMs! / 1000} s`)
    expectSuccess(said, 'the image could not be pulled')
  }

  async #create(): Promise<void> {
    const { warrant, machineId } = this.#context
    const { spec, uuid, run } = warrant
    const { args, own } = this.#environment()
    const options = [
      ...['--name', this.#name, '--log-driver', 'none'],
      ...[label('machine', machineId), label('uuid', uuid), label('run', run)].flatMap(text => ['--label', text]),
      ...args,
      ...(spec.vcpus > 0 ? [`--cpus=${spec.vcpus}`] : []),
      // Without the second one it may use as much of the machine's swap again.
      ...(spec.ramBytes > 0 ? [`--memory=${spec.ramBytes}`, `--memory-swap=${spec.ramBytes}`] : []),
      ...(spec.cwd === '' || spec.cwd === '.' ? [] : [`--workdir=${spec.cwd}`]),
      ...Object.keys(spec.mounts).map((path, index) => `--mount=type=bind,source=${this.#mount(index)},target=${path}`),
    ]
    const onSpawn = (child: ChildProcess) => {
      this.#creating = child
    }
    const said = await this.#say(['create', ...options, spec.image, ...spec.command], { own, onSpawn })
    rmSync(this.#environmentFile, { force: true })
    expectSuccess(said, 'the container could not be made')
  }

  #mount(index: number): string {
    const path = join(this.#context.folder.path, 'mounts', String(index))
    mkdirSync(path, { recursive: true })
    // An image may name any user.
    chmodSync(path, 0o1777)
    return path
  }

  /** A line of the file is a variable, so values with several or long lines go by the client's environment. */
  #environment(): { readonly args: readonly string[]; readonly own: Readonly<Record<string, string>> } {
    const { warrant } = this.#context
    const all = Object.entries({ ...warrant.spec.environment, ...identity(warrant) })
    const isLine = ([, value]: readonly [string, string]) =>
      !/[\r\n]/.test(value) && Buffer.byteLength(value) < longestLine
    const lines = all.filter(isLine).map(([name, value]) => `${name}=${value}\n`)
    const own = Object.fromEntries(all.filter(variable => !isLine(variable)))
    const taken = Object.keys(own).find(name => ofClient.test(name))
    if (taken) throw new Error(`the variable ${taken} cannot have several lines, or so long ones`)
    writeFileSync(this.#environmentFile, lines.join(''), { mode: 0o600 })
    return {
      args: ['--env-file', this.#environmentFile, ...Object.keys(own).flatMap(name => ['--env', name])],
      own,
    }
  }

  /** After the client has ended, which may be before the container: it may have lost the engine. @param why of a failed start */
  async #end(why: () => string): Promise<RunEnd> {
    for (;;) {
      const said = await this.#inspect('{{.State.Status}} {{.State.ExitCode}} {{.State.OOMKilled}}')
      const [, status, code, isOutOfMemory] = /^(\w+) (\d+) (\w+)$/.exec(said.out.trim()) ?? []
      if (status === undefined)
        return { reason: `the engine does not have the container any more: ${wordsOf(said.err)}` }
      if (status === 'created') return { reason: `the container could not be started: ${why()}` }
      if (status === 'running' || status === 'paused') await this.#say(['wait', this.#name])
      else return endOf(Number(code), isOutOfMemory === 'true' || existsSync(this.#outOfMemoryMark))
    }
  }

  get #outOfMemoryMark(): string {
    return join(this.#context.folder.path, outOfMemoryMark)
  }

  async #status(): Promise<string> {
    return (await this.#inspect('{{.State.Status}}')).out.trim()
  }

  #inspect(format: string): Promise<Said> {
    return this.#say(['inspect', '--format', format, this.#name])
  }

  async #ids(filters: readonly string[]): Promise<string[]> {
    const { machineId, warrant } = this.#context
    const ours = [label('machine', machineId), label('uuid', warrant.uuid), label('run', warrant.run)]
    const said = await this.#say([
      'ps',
      '--quiet',
      '--no-trunc',
      ...filters,
      ...ours.flatMap(text => ['--filter', `label=${text}`]),
    ])
    expectSuccess(said, 'containers could not be listed')
    return said.out.split('\n').filter(Boolean)
  }

  #say(args: readonly string[], saying?: Saying): Promise<Said> {
    return this.#client.say(args, saying)
  }
}

/** A process of it may have been ended for memory without harm. */
const endOf = (exitCode: number, isOutOfMemory: boolean): RunEnd => ({
  exitCode,
  ...(isOutOfMemory && exitCode !== 0 && { reason: 'out of memory' }),
})

function expectSuccess(said: Said, problem: string): void {
  if (said.code !== 0) throw new Error(`${problem}: ${wordsOf(said.err)}`)
}
