/**
 * A run's Docker engine: Debian's dockerd, with processes, mounts and `/run` of its own, so that everything it started ends
 * with its one process. It leaves a bridge and control groups on the machine. Their names are fixed, so a machine has one
 * such engine at a time.
 */
import { createReadStream, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Agent, fetch } from 'undici'
import type { ImageConfig } from '../image/layout.ts'
import { run } from '../process/command.ts'
import { stopProcess } from '../process/process.ts'
import { startServer } from '../process/server.ts'
import { bridge, cgroup, engineFolder, lockEngine, removeTraces, settingsFolder } from '../run/engine-teardown.ts'
import type { Tools } from '../setup/setup.ts'

/** Address of the bridge for containers. */
const address = '10.245.0.1/24'
const publishedAt = '127.0.0.1'
const name = 'dockerd'
const startLimitMs = 60_000

export interface EngineOptions {
  /** The folder of an open run. */
  readonly stateDir: string
  readonly tools: Tools
  readonly signal?: AbortSignal | undefined
}

export interface Engine {
  /** Variables by which testcontainers finds it and its published ports. */
  readonly env: Readonly<Record<string, string>>
  /** Makes an image of a tree, as `docker import` does. */
  importImage(image: { readonly rootfs: string; readonly name: string; readonly config: ImageConfig }): Promise<void>
  /** Ends it with all its containers, and removes what it left on the machine. */
  stop(): Promise<void>
}

/** Starts it; resolves when it answers. Needs root; throws when the machine has such an engine already. */
export async function startEngine(options: EngineOptions): Promise<Engine> {
  const { stateDir } = options
  const lock = await lockEngine()
  if (!lock) throw new Error('another run has a Docker engine on this machine')
  const stop = async () => {
    await stopProcess(stateDir, name, 0)
    await removeTraces()
    await lock.release()
  }
  const socket = join(engineFolder(stateDir), 'docker.sock')
  const dispatcher = new Agent({ connect: { socketPath: socket } })
  const ask: Ask = (path, init) => fetch(`http://engine${path}`, { ...init, dispatcher })
  try {
    await startDaemon(options, socket, ask)
  } catch (error) {
    await stop()
    throw error
  }
  return {
    env: {
      DOCKER_HOST: `unix://${socket}`,
      // In a container testcontainers would look for ports at the bridge.
      TESTCONTAINERS_HOST_OVERRIDE: publishedAt,
      // The image that cleans up after killed tests is not available; and all containers end with their engine.
      TESTCONTAINERS_RYUK_DISABLED: 'true',
    },
    importImage: image => importTree(ask, `${engineFolder(stateDir)}/image.tar`, image),
    stop: async () => {
      await dispatcher.destroy()
      await stop()
    },
  }
}

type Ask = (
  path: string,
  init?: Pick<NonNullable<Parameters<typeof fetch>[1]>, 'method' | 'body' | 'duplex' | 'signal'>,
) => ReturnType<typeof fetch>

async function startDaemon({ stateDir, tools, signal }: EngineOptions, socket: string, ask: Ask): Promise<void> {
  const folder = engineFolder(stateDir)
  mkdirSync(folder, { recursive: true })
  // Remains of a killed run.
  await removeTraces()
  await run('ip', ['link', 'add', bridge, 'type', 'bridge'])
  await run('ip', ['addr', 'add', address, 'dev', bridge])
  await run('ip', ['link', 'set', bridge, 'up'])
  const config = join(folder, 'daemon.json')
  writeFileSync(config, JSON.stringify(daemonConfig(folder, socket), null, 2))
  // A /run of its own keeps it apart from a containerd of the machine. Older engines write a key into /etc/docker.
  mkdirSync(settingsFolder, { recursive: true })
  const script = `mount -t tmpfs run /run && mount -t tmpfs etc ${settingsFolder} && exec "$0" --config-file "$1"`
  const namespaces = ['--mount', '--pid', '--fork', '--kill-child', '--mount-proc']
  const args = [...namespaces, 'sh', '-c', script, tools.program('dockerd'), config]
  const answers = async () => (await ask('/_ping', { signal: AbortSignal.timeout(1000) })).ok
  await startServer({ name, command: 'unshare', args, stateDir }, { answers, limitMs: startLimitMs, signal })
}

/** Ports are published on loopback, by a process for each: no rule is written, and nothing is routed. */
const daemonConfig = (folder: string, socket: string) => ({
  hosts: [`unix://${socket}`],
  'data-root': join(folder, 'data'),
  'exec-root': join(folder, 'exec'),
  pidfile: join(folder, 'pid'),
  bridge: bridge,
  ip: publishedAt,
  iptables: false,
  ip6tables: false,
  'ip-forward': false,
  'ip-masq': false,
  'userland-proxy': true,
  'exec-opts': ['native.cgroupdriver=cgroupfs'],
  'cgroup-parent': `/${cgroup}`,
  'log-level': 'warn',
})

async function importTree(ask: Ask, archive: string, image: Parameters<Engine['importImage']>[0]): Promise<void> {
  const { rootfs, name, config } = image
  await run('tar', ['-C', rootfs, '--numeric-owner', '--owner=0', '--group=0', '-cf', archive, '.'])
  const query = new URLSearchParams({ fromSrc: '-', repo: name })
  for (const change of changesOf(config)) query.append('changes', change)
  const body = createReadStream(archive)
  const answer = await ask(`/images/create?${query}`, { method: 'POST', body, duplex: 'half' })
  // One line per step. Errors come with status 200 too.
  const words = await answer.text()
  if (!answer.ok || words.includes('"errorDetail"')) throw new Error(`import of ${name}: ${words.trim()}`)
}

/** An image's settings as lines of a Dockerfile. */
export function changesOf({ Cmd, Entrypoint, Env = [], User, WorkingDir }: ImageConfig): string[] {
  const lists = Object.entries({ CMD: Cmd, ENTRYPOINT: Entrypoint })
  const texts = Object.entries({ USER: User, WORKDIR: WorkingDir })
  return [
    ...lists.flatMap(([key, words]) => (words ? [`${key} ${JSON.stringify(words)}`] : [])),
    ...texts.flatMap(([key, word]) => (word ? [`${key} ${word}`] : [])),
    ...Env.map(assignment => `ENV ${assignment}`),
  ]
}
