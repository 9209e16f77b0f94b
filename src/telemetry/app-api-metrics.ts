/** Metrics of what people ask of apps beside plain requests: logs and GraphQL. Their labels name no app and no person. */
import { Counter, Gauge, type Registry } from 'prom-client'

export type AppApiMetrics = ReturnType<typeof createAppApiMetrics>

/** How a log ends, or why it does not begin. */
export const logEndings = ['complete', 'stopped', 'left', 'cut', 'refused', 'failed'] as const
export const graphqlResults = ['done', 'partly', 'refused', 'large', 'failed'] as const
export type GraphqlResult = (typeof graphqlResults)[number]
const operations = ['query', 'mutation', 'none'] as const

export function createAppApiMetrics(registry: Registry) {
  const registers = [registry]
  const metrics = {
    logsOpen: new Gauge({
      name: 'skylab_log_streams_open',
      help: 'Logs of pods of apps that clients read now',
      registers,
    }),
    logs: new Counter({
      name: 'skylab_log_streams_total',
      help: 'Logs of pods of apps that ended at this replica, by ending (complete; stopped: after api.limits.maxLogSeconds, at the end of the replica, or since the reader may read no more; left: by the reader; cut: too much, or nobody reads; refused: there is no such log now; failed: the API server or the node gave none, or broke it off)',
      labelNames: ['ending'] as const,
      registers,
    }),
    graphql: new Counter({
      name: 'skylab_graphql_requests_total',
      help: 'Requests of GraphQL whose text was read, by operation (query, mutation; none: it is neither) and result (done; partly: fields were refused, as REST would; refused: it is not valid, or beyond a bound; large: the answer would be; failed: an unexpected error)',
      labelNames: ['operation', 'result'] as const,
      registers,
    }),
  }
  // A series that begins with its first event hides this event from `increase`.
  for (const ending of logEndings) metrics.logs.inc({ ending }, 0)
  for (const operation of operations) for (const result of graphqlResults) metrics.graphql.inc({ operation, result }, 0)
  return metrics
}
