/** A process's connection to Redis. */
import { Connection } from '../store/connection.ts'
import type { Basics } from './basics.ts'

export function connect({ settings, config, clock, log, metrics }: Basics): Connection {
  return new Connection({
    config: config.redis,
    login: settings.redisLogin,
    clock,
    log,
    onCall: (command, seconds, answered) =>
      metrics.redisCallDuration.observe({ command, result: answered ? 'ok' : 'error' }, seconds),
  })
}
