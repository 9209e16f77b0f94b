/** A process's connection to Redis. */
import { Connection } from '../store/connection.ts'
import type { Basics } from './basics.ts'

/** @param withoutEval its user is not allowed to call EVAL, as that of gateways */
export function connect({ settings, config, clock, log, metrics }: Basics, withoutEval = false): Connection {
  return new Connection({
    ...{ config: config.redis, withoutEval },
    login: settings.redisLogin,
    clock,
    log,
    onCall: (command, seconds, answered) =>
      metrics.redisCallDuration.observe({ command, result: answered ? 'ok' : 'error' }, seconds),
  })
}
