/** Containers of tests, started by testcontainers on the available Docker engine, and killed and paused like processes. */
import { createWriteStream, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { getContainerRuntimeClient, type StartedTestContainer } from 'testcontainers'
import { waitUntil } from './api-client.ts'
import { logTail, type Readiness, type ServerControl } from './server.ts'

/** Throws, in words for a person, when no engine answers. */
export async function assertEngineAnswers(): Promise<void> {
  await getContainerRuntimeClient().catch(() => {
    throw new Error('no Docker engine answers, neither at DOCKER_HOST nor at its usual sockets')
  })
}

/** The address at which the engine publishes ports. A host name could mean ::1 first, where ports may not be published. */
export const hostOf = (container: StartedTestContainer): string => {
  const host = container.getHost()
  return host === 'localhost' ? '127.0.0.1' : host
}

/** A consumer that appends a container's output to the log of this name, as for a process. */
export function logConsumer(stateDir: string, name: string): (stream: Readable) => void {
  const file = join(stateDir, 'log', `${name}.log`)
  // The run's folder, or the container, can go before the last line is written.
  const ignore = () => {}
  return stream => {
    mkdirSync(join(stateDir, 'log'), { recursive: true })
    stream
      .on('error', ignore)
      .pipe(createWriteStream(file, { flags: 'a' }))
      .on('error', ignore)
  }
}

export interface ContainerParts extends Readiness {
  readonly container: StartedTestContainer
  readonly stateDir: string
  /** Name of the log. */
  readonly name: string
}

/** A container with fixed ports on the host, so that it keeps its address over restarts. */
export interface ContainerControl extends ServerControl {
  /** Ends it and removes it with its data. */
  stop(): Promise<void>
}

/** Controls a container that testcontainers has started; resolves when it answers, else removes it. */
export async function controlContainer(parts: ContainerParts): Promise<ContainerControl> {
  const { stateDir, name, answers, limitMs, signal } = parts
  const engine = (await getContainerRuntimeClient()).container
  const container = engine.getById(parts.container.getId())
  const log = logConsumer(stateDir, name)
  const answered = () =>
    waitUntil(answers, { what: name, limitMs, signal }).catch(error => {
      throw new Error(`${(error as Error).message}\n${logTail(stateDir, name)}`.trimEnd(), { cause: error })
    })
  const kill = async () => void (await container.kill().catch(unless(conflict)))
  const start = async () => {
    await container.start()
    const { State } = await container.inspect()
    log(await engine.logs(container, { since: secondsOf(State.StartedAt) }))
    await answered()
  }
  const stop = async () => void (await container.remove({ force: true, v: true }).catch(unless(notFound)))
  await answered().catch(async error => {
    await stop()
    throw error
  })
  return {
    kill,
    start,
    restart: async () => {
      await kill()
      await start()
    },
    pause: async () => void (await container.pause()),
    resume: async () => void (await container.unpause()),
    stop,
  }
}

const secondsOf = (time: string) => Math.floor(Date.parse(time) / 1000)

/** The engine's status for "not running" and "not found": as for a process, the container has ended already. */
const conflict = 409
const notFound = 404

const unless = (status: number) => (error: { readonly statusCode?: number }) => {
  if (error.statusCode !== status) throw error
}
