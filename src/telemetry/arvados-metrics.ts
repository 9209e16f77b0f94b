/** Metrics of the mirror of Arvados' queue. Only a process with `dispatch.queue.arvados` has them. */
import { Counter, Gauge, type Registry } from 'prom-client'

export function createArvadosMetrics(registry: Registry) {
  const registers = [registry]
  return {
    calls: new Counter({
      name: 'skylab_arvados_calls_total',
      help: 'Calls of Arvados’ API, by call (current, list, get, lock, unlock, update) and outcome (done; busy: 503; refused: 4xx; gone: 404; unclear: no answer, or one that nobody can read)',
      labelNames: ['call', 'outcome'] as const,
      registers,
    }),
    badRecords: new Counter({
      name: 'skylab_arvados_bad_records_total',
      help: 'Records of Arvados in answers to listings that were left out, since they are not as they must be',
      registers,
    }),
    mirrored: new Gauge({
      name: 'skylab_arvados_mirrored',
      help: 'Containers of Arvados that are in the queue here, or whose end Arvados does not know yet, as the replica sees them that mirrors; 0 at the others',
      registers,
    }),
    owed: new Gauge({
      name: 'skylab_arvados_owed',
      help: 'Containers with a report that Arvados does not have yet, as the replica that mirrors sees them; 0 at the others',
      registers,
    }),
  }
}
