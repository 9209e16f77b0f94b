/**
 * The engines `docker` and `podman`, by their command lines. Values of the environment are on no command line: a file that only
 * the owner reads has them, or the client's own environment where the file's form has no room for them.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { RunEnd } from '../../dispatch/protocol.ts'
import { type Engine, type EngineContext, identity, type Running } from './engine.ts'

const label = (name: string, value: string | number) => `io.skylab.${name}=${value}`
/** Variables that steer the client itself. */
const ofClient = /^(PATH|HOME|TMPDIR|LD_.*|DOCKER_.*|CONTAINER.*|PODMAN_.*|XDG_.*|.*_PROXY|.*_proxy|SSL_.*|SKYLAB_.*)$/
const mostWords = 500

interface Said {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export class ContainerEngine implements Engine {
  readonly #context: EngineContext
  /** The pull, or whatever runs before the container does. */
  #before: ChildProcess | undefined
  #isEnding = false

  constructor(context: EngineContext) {
    this.#context = context
  }

  async start(): Promise<Running> {
    await this.#pull()
    await this.#create()
    if (this.#isEnding) throw new Error('killed before it began')
    const child = spawn(this.#context.engine, ['start', '--attach', this.#name], { stdio: ['ignore', 'pipe', 'pipe'] })
    const done = once(child, 'exit').then(() => this.#end())
    await Promise.race([once(child, 'spawn'), done])
    return { stdout: child.stdout, stderr: child.stderr, process: {}, done }
  }

  async terminate(): Promise<void> {
    this.#isEnding = true
    this.#before?.kill('SIGTERM')
    await this.#say(['kill', '--signal', 'TERM', this.#name])
  }

  async destroy(): Promise<boolean> {
    this.#isEnding = true
    this.#before?.kill('SIGKILL')
    await this.#say(['kill', this.#name])
    return (await this.#ids(['--filter', 'status=running', '--filter', 'status=paused'])).length === 0
  }

  async discard(): Promise<boolean> {
    await this.clean()
    return (await this.#ids(['--all'])).length === 0
  }

  async clean(): Promise<void> {
    for (const id of await this.#ids(['--all'])) await this.#say(['rm', '--force', '--volumes', id])
    rmSync(this.#environmentFile, { force: true })
    rmSync(join(this.#context.folder.path, 'mounts'), { recursive: true, force: true })
  }

  get #name(): string {
    const { warrant, machineId } = this.#context
    return `skylab-${machineId}-${warrant.uuid}-${warrant.run}`
  }

  get #environmentFile(): string {
    return join(this.#context.folder.path, 'environment')
  }

  async #pull(): Promise<void> {
    const { image } = this.#context.warrant.spec
    if (image === '') throw new Error('no image is named')
    const known = await this.#say(['image', 'inspect', image])
    if (known.code !== 0) expectSuccess(await this.#say(['pull', '--quiet', image]), 'the image could not be pulled')
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
      ...(spec.ramBytes > 0 ? [`--memory=${spec.ramBytes}`] : []),
      ...(spec.cwd === '' || spec.cwd === '.' ? [] : [`--workdir=${spec.cwd}`]),
      ...Object.keys(spec.mounts).map((path, index) => `--mount=type=bind,source=${this.#mount(index)},target=${path}`),
    ]
    const said = await this.#say(['create', ...options, spec.image, ...spec.command], own)
    rmSync(this.#environmentFile, { force: true })
    expectSuccess(said, 'the container could not be made')
  }

  #mount(index: number): string {
    const path = join(this.#context.folder.path, 'mounts', String(index))
    mkdirSync(path, { recursive: true })
    return path
  }

  /** A line of the file is a variable, so values with several lines go by the client's environment. */
  #environment(): { readonly args: readonly string[]; readonly own: Readonly<Record<string, string>> } {
    const { warrant } = this.#context
    const all = Object.entries({ ...warrant.spec.environment, ...identity(warrant) })
    const isLine = ([, value]: readonly [string, string]) => !/[\r\n]/.test(value)
    const lines = all.filter(isLine).map(([name, value]) => `${name}=${value}\n`)
    const own = Object.fromEntries(all.filter(variable => !isLine(variable)))
    const taken = Object.keys(own).find(name => ofClient.test(name))
    if (taken) throw new Error(`the variable ${taken} cannot have several lines`)
    writeFileSync(this.#environmentFile, lines.join(''), { mode: 0o600 })
    return {
      args: ['--env-file', this.#environmentFile, ...Object.keys(own).flatMap(name => ['--env', name])],
      own,
    }
  }

  /** After the client has ended, which may be before the container: it may have lost the engine. */
  async #end(): Promise<RunEnd> {
    for (;;) {
      const said = await this.#say([
        'inspect',
        '--format',
        '{{.State.Status}} {{.State.ExitCode}} {{.State.OOMKilled}}',
        this.#name,
      ])
      const [status, code, isOutOfMemory] = said.out.trim().split(' ')
      if (said.code !== 0) return { reason: `the container is gone: ${words(said)}` }
      if (status === 'created') return { reason: 'the container could not be started' }
      if (status !== 'running' && status !== 'paused')
        return { exitCode: Number(code), ...(isOutOfMemory === 'true' && { reason: 'out of memory' }) }
      await this.#say(['wait', this.#name])
    }
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

  async #say(args: readonly string[], own: Readonly<Record<string, string>> = {}): Promise<Said> {
    const child = spawn(this.#context.engine, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...own },
    })
    if (['pull', 'create'].includes(args[0]!)) this.#before = child
    const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    return { code, out, err }
  }
}

const words = ({ err }: Said) => err.trim().slice(-mostWords)

function expectSuccess(said: Said, problem: string): void {
  if (said.code !== 0) throw new Error(`${problem}: ${words(said)}`)
}
