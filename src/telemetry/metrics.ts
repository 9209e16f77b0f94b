/**
 * All metrics, in one place, by Prometheus' conventions. Labels come from short lists, never from users: with a label
 * for each of 5,000 users, one scrape blocked the event loop for more than a second.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, type Registry } from 'prom-client'
import { labKind } from '../base/subject.ts'
import { callBuckets } from './buckets.ts'
import { metricsOfDeclarations } from './declarations.ts'

/** In seconds, up to a spawn that takes its whole time-out. */
const operationBuckets = [0.5, 1, 2, 4, 8, 15, 30, 60, 120, 300, 600]

export type Metrics = ReturnType<typeof createMetrics>

/** Makes the metrics of one process in its own registry; none is global. */
export function createMetrics(registry: Registry) {
  const registers = [registry]
  return {
    registry,

    operationDuration: new Histogram({
      name: 'skylab_operation_duration_seconds',
      help: 'Operations that ended, from acceptance to the last event, by kind (create, delete), result (complete, failed) and kind of subject (subject_kind: lab)',
      labelNames: ['kind', 'result', 'subject_kind'] as const,
      buckets: operationBuckets,
      registers,
    }),
    operationsAccepted: new Counter({
      name: 'skylab_operations_accepted_total',
      help: 'Operations accepted by this replica, by kind (create, delete) and kind of subject (subject_kind: lab)',
      labelNames: ['kind', 'subject_kind'] as const,
      registers,
    }),
    operationsResumed: new Counter({
      name: 'skylab_operations_resumed_total',
      help: 'Operations that this replica resumed from another one, by kind (create, delete) and kind of subject (subject_kind: lab)',
      labelNames: ['kind', 'subject_kind'] as const,
      registers,
    }),
    stepDuration: new Histogram({
      name: 'skylab_step_duration_seconds',
      help: 'Steps of operations, by kind of operation (create, delete), step, result (done, failed, aborted) and kind of subject (subject_kind: lab)',
      labelNames: ['kind', 'step', 'result', 'subject_kind'] as const,
      buckets: [...callBuckets, 30, 60, 120, 300, 600],
      registers,
    }),
    leases: new Counter({
      name: 'skylab_leases_total',
      help: 'Leases by outcome: won, lost (not extended in time, before the operation ended), fenced (the operation had moved on), and kind of subject (subject_kind: lab)',
      labelNames: ['outcome', 'subject_kind'] as const,
      registers,
    }),
    debrisRemoved: new Counter({
      name: 'skylab_debris_removed_total',
      help: 'Objects that no record explains, or that a failed operation left, which this replica removed, by kind (namespace, pod)',
      labelNames: ['kind'] as const,
      registers,
    }),
    compareDuration: new Histogram({
      name: 'skylab_compare_duration_seconds',
      help: 'Comparisons of the records with the cluster, by result (done, failed, restarted; doubted: nothing was changed, since the clock of Redis is wrong)',
      labelNames: ['result'] as const,
      buckets: operationBuckets,
      registers,
    }),
    catalogueRefreshDuration: new Histogram({
      name: 'skylab_image_catalogue_refresh_duration_seconds',
      help: 'Readings of the registry by this replica, by result (done, failed); a failed one changes nothing',
      labelNames: ['result'] as const,
      buckets: [...callBuckets, 30, 60],
      registers,
    }),
    ...metricsOfDeclarations(registers),
    prepullFailures: new Counter({
      name: 'skylab_image_prepull_failures_total',
      help: 'Failed prepulls seen by this replica, by result (failed: nodes could not pull the image in time; refused: the cluster refused the DaemonSet)',
      labelNames: ['result'] as const,
      registers,
    }),
    prepullsFailing: new Gauge({
      name: 'skylab_image_prepulls_failing',
      help: 'Images whose last prepull failed on nodes that still lack them; only the prepulling replica has the number, others 0',
      registers,
    }),

    compareLastSuccess: new Gauge({
      name: 'skylab_compare_last_success_timestamp_seconds',
      help: 'Time of this replica’s last complete compare of the records with the cluster; 0 before the first one',
      registers,
    }),
    distrustedObjects: new Gauge({
      name: 'skylab_distrusted_objects',
      help: 'Namespaces and pods with this installation’s label that this replica’s last compare distrusted, by reason (ahead: an op over a day beyond the clock of Redis; mac: a foreign record)',
      labelNames: ['reason'] as const,
      registers,
    }),
    admissionPolicyActive: new Gauge({
      name: 'skylab_admission_policy_active',
      help: 'Whether the API server refused, at the last check, everything that k8s/base/policy.yaml must refuse (1), or not (0)',
      registers,
    }),
    kubernetesRightsMissing: new Gauge({
      name: 'skylab_kubernetes_rights_missing',
      help: 'Rights of k8s/base/rbac.yaml that the controller’s account lacked at this replica’s last check; 0 if the API server does not list rights',
      registers,
    }),
    kubernetesRefusals: new Counter({
      name: 'skylab_kubernetes_refusals_total',
      help: 'Requests that the Kubernetes API refused (403), by verb and reason (rights: RBAC or another authorizer; policy: a ValidatingAdmissionPolicy; other: a quota and the like), without requests that test the policies',
      labelNames: ['verb', 'reason'] as const,
      registers,
    }),
    kubernetesRequestDuration: new Histogram({
      name: 'skylab_kubernetes_request_duration_seconds',
      help: 'Requests to the Kubernetes API, by verb and status code (error: no answer came)',
      labelNames: ['verb', 'code'] as const,
      buckets: callBuckets,
      registers,
    }),
    identityRequestDuration: new Histogram({
      name: 'skylab_identity_request_duration_seconds',
      help: 'Requests to the source of identities, by result (ok; refused: it does not know the token; failed: no usable answer)',
      labelNames: ['result'] as const,
      buckets: callBuckets,
      registers,
    }),
    redisCallDuration: new Histogram({
      name: 'skylab_redis_call_duration_seconds',
      help: 'Calls of Redis, by command or script and result (ok, error)',
      labelNames: ['command', 'result'] as const,
      buckets: callBuckets,
      registers,
    }),

    httpRequestDuration: new Histogram({
      name: 'skylab_http_request_duration_seconds',
      help: 'Requests until the head of the answer, by method (other: unknown, or not of the route), route and status',
      labelNames: ['method', 'route', 'status'] as const,
      buckets: callBuckets,
      registers,
    }),
    httpFaults: new Counter({
      name: 'skylab_http_faults_total',
      help: 'Requests answered with 500, and those of GraphQL with an unexpected error, by reason (defect: an unexpected error; misconfigured: a Secret or ConfigMap of every lab is missing or wrong)',
      labelNames: ['reason'] as const,
      registers,
    }),
    requestsRefused: new Counter({
      name: 'skylab_requests_refused_total',
      help: 'Requests refused to protect other users, by kind (create, change, read: beyond the rate; body, log, answer: too many at once, of large answers those that wait for their readers)',
      labelNames: ['kind'] as const,
      registers,
    }),
    httpRequestsInFlight: new Gauge({
      name: 'skylab_http_requests_in_flight',
      help: 'Requests whose answer has not begun',
      registers,
    }),
    eventStreamsOpen: new Gauge({
      name: 'skylab_event_streams_open',
      help: 'Event streams that clients read now',
      registers,
    }),
    eventStreamsCut: new Counter({
      name: 'skylab_event_streams_cut_total',
      help: 'Event streams ended because their reader took nothing for too long',
      registers,
    }),
    auditEvents: new Counter({
      name: 'skylab_audit_events_total',
      help: 'Events of the audit log that this replica wrote, by action and result (accepted, refused, succeeded, failed); events that share a line count separately',
      labelNames: ['action', 'result'] as const,
      registers,
    }),
    auditWriteFailures: new Counter({
      name: 'skylab_audit_write_failures_total',
      help: 'Lines of the audit log that could not be written to their destination, and went to the next one',
      registers,
    }),
    spans: new Counter({
      name: 'skylab_trace_spans_total',
      help: 'Spans of traces by outcome: sent, failed (the receiver did not accept them), dropped (more than tracing.maxQueuedSpans)',
      labelNames: ['outcome'] as const,
      registers,
    }),
  }
}

/** A series that begins with its first event hides this event from `increase`, so series begin at 0 where possible. */
export function beginAtZero({
  operationDuration,
  operationsAccepted,
  operationsResumed,
  catalogueRefreshDuration,
  distrustedObjects,
  prepullFailures,
  leases,
  debrisRemoved,
  httpFaults,
  kubernetesRefusals,
  requestsRefused,
  auditEvents,
  spans,
}: Metrics): void {
  const ofLabs = { subject_kind: labKind }
  for (const kind of ['create', 'delete']) {
    operationsAccepted.inc({ kind, ...ofLabs }, 0)
    operationsResumed.inc({ kind, ...ofLabs }, 0)
    for (const result of ['complete', 'failed']) operationDuration.zero({ kind, result, ...ofLabs })
  }
  for (const reason of ['ahead', 'mac']) distrustedObjects.set({ reason }, 0)
  for (const result of ['done', 'failed']) catalogueRefreshDuration.zero({ result })
  for (const result of ['failed', 'refused']) prepullFailures.inc({ result }, 0)
  for (const reason of ['defect', 'misconfigured'] as const) httpFaults.inc({ reason }, 0)
  for (const verb of ['get', 'list', 'watch', 'create', 'patch', 'delete']) {
    for (const reason of ['rights', 'policy', 'other']) kubernetesRefusals.inc({ verb, reason }, 0)
  }
  for (const kind of ['create', 'change', 'read', 'body', 'log', 'answer']) requestsRefused.inc({ kind }, 0)
  for (const outcome of ['won', 'lost', 'fenced']) leases.inc({ outcome, ...ofLabs }, 0)
  for (const kind of ['namespace', 'pod']) debrisRemoved.inc({ kind }, 0)
  for (const action of ['lab.create', 'lab.delete']) {
    for (const result of ['accepted', 'refused', 'succeeded', 'failed']) auditEvents.inc({ action, result }, 0)
  }
  for (const outcome of ['sent', 'failed', 'dropped']) spans.inc({ outcome }, 0)
}

/** Gauges of labs whose 0, in a process that serves none, would read as a fault of labs. */
const faultsOfLabs = ['skylab_admission_policy_active', 'skylab_compare_last_success_timestamp_seconds']

/** For a process without labs: takes away what would raise alerts of labs. */
export function forgetLabs(registry: Registry): void {
  for (const name of faultsOfLabs) registry.removeSingleMetric(name)
}

/** Gauges whose names end like those of counters. The same numbers exist by type, under proper names. */
const misnamed = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total']

/**
 * Interval of the samples of the event loop's lag. Each sample wakes the process: at the default of 10 ms they took a third
 * of what a replica at rest uses. The percentiles of the lag include this interval.
 */
const lagSampleMs = 100

/** Adds Node's metrics of its process: memory, CPU, file descriptors, event loop lag. To be called once per process. */
export function collectProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: lagSampleMs })
  for (const name of misnamed) registry.removeSingleMetric(name)
}
