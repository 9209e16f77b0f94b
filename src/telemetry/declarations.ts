/** The metrics of `reconcile`, by kind of custom resource. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { callBuckets } from './buckets.ts'

export function metricsOfDeclarations(registers: Registry[]) {
  return {
    reconcileTurns: new Counter({
      name: 'skylab_reconcile_turns_total',
      help: 'Looks at the objects of one custom resource, by its kind and result (idle: nothing to do; done; left: it is gone; refused: another replica is at it; deferred: effects or the status are left to another replica for a second; over: it took too long; cut: a revocation has come; due: done except for what waits for Redis; held: done except for what failed a moment ago; failed)',
      labelNames: ['kind', 'result'] as const,
      registers,
    }),
    reconcileReaction: new Histogram({
      name: 'skylab_reconcile_reaction_seconds',
      help: 'Time from an event to the end of the writes that it caused, by kind of custom resource',
      labelNames: ['kind'] as const,
      buckets: [...callBuckets, 30, 60],
      registers,
    }),
    reconcileWrites: new Counter({
      name: 'skylab_reconcile_writes_total',
      help: 'Writes for custom resources, by their kind, verb (create, change, remove, report: its status) and result (done; stale: the object had changed; failed)',
      labelNames: ['kind', 'verb', 'result'] as const,
      registers,
    }),
    reconcileQueue: new Gauge({
      name: 'skylab_reconcile_queue_depth',
      help: 'Custom resources that wait for a look, by kind',
      labelNames: ['kind'] as const,
      registers,
    }),
    reconcileContended: new Gauge({
      name: 'skylab_reconcile_contended',
      help: 'Custom resources whose objects another writer changes again and again, by kind',
      labelNames: ['kind'] as const,
      registers,
    }),
  }
}
