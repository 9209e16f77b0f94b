import { GenericContainer, Wait } from 'testcontainers'
import { controlContainer, hostOf, logConsumer } from '../process/containers.ts'
import { freePort } from '../process/ports.ts'
import {
  answersPing,
  type Redis,
  type RedisOptions,
  redisSettings,
  startLimitMs,
  toArguments,
  urlsAt,
  userArguments,
} from './redis.ts'

export interface RedisContainerOptions extends RedisOptions {
  /** Must have `redis-server` in its PATH, and a writable working directory. */
  readonly image: string
}

const innerPort = 6379

/** Starts Redis in a container; resolves when it answers. It has the machine's clock, and refuses to step it. */
export async function startRedisContainer(options: RedisContainerOptions): Promise<Redis> {
  const { stateDir, image, wrongClock, signal } = options
  if (wrongClock) stepClock()
  const port = options.port ?? (await freePort())
  const name = `redis-${port}`
  const settings = {
    ...redisSettings(options),
    port: String(innerPort),
    // Clients come through a published port, and so from another address than Redis' own.
    'protected-mode': 'no',
  }
  const container = await new GenericContainer(image)
    .withCommand(['redis-server', ...toArguments(settings), ...userArguments(options.keyPrefix)])
    .withExposedPorts({ container: innerPort, host: port })
    .withLogConsumer(logConsumer(stateDir, name))
    .withWaitStrategy(Wait.forLogMessage('Ready to accept connections'))
    .withStartupTimeout(startLimitMs)
    .start()
  const host = hostOf(container)
  const answers = () => answersPing(port, host)
  const control = await controlContainer({ container, stateDir, name, answers, limitMs: startLimitMs, signal })
  return { ...urlsAt(`${host}:${port}`), port, ...control, stepClock }
}

function stepClock(): never {
  throw new Error('the clock of a Redis in a container cannot be stepped: it is the clock of the machine')
}
