/** Containers of tests, started by testcontainers on the Docker engine that answers, and struck as processes are. */
import { createWriteStream, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { getContainerRuntimeClient, type StartedTestContainer } from 'testcontainers'
import { waitUntil } from './api-client.ts'
import { logTail, type Readiness, type ServerControl } from './server.ts'

/** Throws, in words, where no engine answers. */
export async function assertEngineAnswers(): Promise<void> {
  await getContainerRuntimeClient().catch(() => {
    throw new Error('no Docker engine answers, neither at DOCKER_HOST nor at its usual sockets')
  })
}

/** Where the engine publishes ports. Its name for this machine may mean ::1 first, where a port need not be published. */
export const hostOf = (container: StartedTestContainer): string => {
  const host = container.getHost()
  return host === 'localhost' ? '127.0.0.1' : host
}

/** Gives what appends a container's output to the log of this name, as a process of it would have. */
export function logConsumer(stateDir: string, name: string): (stream: Readable) => void {
  const file = join(stateDir, 'log', `${name}.log`)
  // Its run's folder, or the container, may be taken away before the last line is written.
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
  /** Names the log. */
  readonly name: string
}

/** A container whose ports on the host are fixed, so that it has the same address in all its lives. */
export interface ContainerControl extends ServerControl {
  /** Ends and removes it, with what it has written. */
  stop(): Promise<void>
}

/** Control of a container that testcontainers has started; resolves when it answers, and removes it where it does not. */
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

/** The engine's words for "does not run" and "is not there": what has ended already is where it shall be, as a process. */
const conflict = 409
const notFound = 404

const unless = (status: number) => (error: { readonly statusCode?: number }) => {
  if (error.statusCode !== status) throw error
}
