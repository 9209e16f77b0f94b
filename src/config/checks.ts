/** What one key of the configuration demands of another. */
import type { Config } from './schema.ts'

/** The sizes that SQR-066 ("Labs for bot users") promises to exist. */
const promisedSizes = ['small', 'medium', 'large']

/** @returns one line for each demand that is not met */
export function crossProblems(config: Config): string[] {
  return [...sizeProblems(config), ...timeProblems(config), ...limitProblems(config)]
}

/** @returns what an operator should know although it is permitted */
export function configWarnings(config: Config): string[] {
  return promisedSizes
    .filter(name => !Object.hasOwn(config.lab.sizes, name))
    .map(name => `lab.sizes: ${name} is missing, which bots are promised`)
}

function sizeProblems({ lab }: Config): string[] {
  const problems: string[] = []
  if (!Object.hasOwn(lab.sizes, lab.defaultSize)) problems.push('lab.defaultSize: is none of lab.sizes')
  for (const [name, { limits, requests }] of Object.entries(lab.sizes)) {
    for (const kind of ['cpu', 'memory'] as const) {
      if (requests && requests[kind] > limits[kind]) {
        problems.push(`lab.sizes.${name}.requests.${kind}: is more than limits.${kind}`)
      }
    }
  }
  return problems
}

function timeProblems({ engine, redis }: Config): string[] {
  const problems: string[] = []
  // A take-over is promised within the TTL and one look round; an owner stops itself at two thirds of its TTL.
  if (engine.scanIntervalMs > engine.leaseTtlMs) problems.push('engine.scanIntervalMs: is more than engine.leaseTtlMs')
  if (redis.commandTimeoutMs * 3 > engine.leaseTtlMs) {
    problems.push('redis.commandTimeoutMs: is more than a third of engine.leaseTtlMs')
  }
  return problems
}

function limitProblems({ api: { heartbeatSeconds, limits } }: Config): string[] {
  const problems: string[] = []
  // The server would not start.
  if (limits.headersTimeoutSeconds > limits.requestTimeoutSeconds) {
    problems.push('api.limits.headersTimeoutSeconds: is more than api.limits.requestTimeoutSeconds')
  }
  // Each silent event stream would be cut.
  if (limits.stallTimeoutSeconds <= heartbeatSeconds) {
    problems.push('api.limits.stallTimeoutSeconds: is not more than api.heartbeatSeconds')
  }
  if (limits.maxBodyBytes > limits.maxBodyBytesInFlight) {
    problems.push('api.limits.maxBodyBytes: is more than api.limits.maxBodyBytesInFlight')
  }
  return problems
}
