import { expect, it } from 'vitest'
import { emptyCensus, servedMetrics } from '../../test/kit/telemetry/served-metrics.ts'

it('createGauges reads the census once per scrape, and reports each kind by itself', async () => {
  let asked = 0
  const registry = servedMetrics({
    census: async () => {
      asked += 1
      const subjects = { ...emptyCensus.subjects, running: 3 }
      const lab = { ...emptyCensus, subjects, owned: 2, longestWaitSeconds: 1.5 }
      return { lab, toy: { ...emptyCensus, subjects: { ...subjects, failed: 4 }, owned: 5, overdue: 1 } }
    },
  })
  const text = await registry.metrics()
  expect(asked).toBe(1)
  expect(text).toMatch(/^skylab_labs\{status="running"\} 3$/m)
  expect(text).toMatch(/^skylab_labs\{status="failed"\} 0$/m)
  expect(text).toMatch(/^skylab_operations\{state="owned",subject_kind="lab"\} 2$/m)
  expect(text).toMatch(/^skylab_operations\{state="owned",subject_kind="toy"\} 5$/m)
  expect(text).toMatch(/^skylab_operations_overdue\{subject_kind="toy"\} 1$/m)
  expect(text).toMatch(/^skylab_operations_longest_wait_seconds\{subject_kind="lab"\} 1.5$/m)
  await registry.metrics()
  expect(asked).toBe(2)
})

it.each([
  ['does not answer', () => Promise.reject(new Error('no answer'))],
  ['is not compared yet', async () => undefined],
])('createGauges omits labs while Redis %s, and keeps all other metrics', async (_, census) => {
  let answers = true
  const registry = servedMetrics({
    census: () => (answers ? Promise.resolve({ lab: { ...emptyCensus, owned: 1 } }) : census()),
    redisConnected: () => answers,
  })
  expect(await registry.metrics()).toMatch(/^skylab_operations\{state="owned",subject_kind="lab"\} 1$/m)
  answers = false
  const text = await registry.metrics()
  expect(text).not.toMatch(/^skylab_(labs|operations)\{/m)
  expect(text).not.toMatch(/^skylab_operations_overdue\{/m)
  expect(text).toMatch(/^skylab_redis_connected 0$/m)
})

it.each<[string, () => Promise<number | undefined>, RegExp]>([
  ['an answer', async () => 90_500, /^skylab_image_catalogue_age_seconds 90.5$/m],
  ['a time before any', async () => undefined, /^(?!.*skylab_image_catalogue_age_seconds \d)/s],
  ['no answer', () => Promise.reject(new Error('away')), /^(?!.*skylab_image_catalogue_age_seconds \d)/s],
])('createGauges reports the age of the image catalogue by %s', async (_, catalogueAgeMs, form) => {
  expect(await servedMetrics({ catalogueAgeMs }).metrics()).toMatch(form)
})

it('createGauges reports the use of limits', async () => {
  const text = await servedMetrics({
    kubernetesLoad: () => ({ inFlight: 64, waiting: 5 }),
    engines: () => ({
      lab: { owned: 30, places: 24, free: 1 },
      toy: { owned: 2, places: 8, free: 6 },
      other: { owned: 1 },
    }),
    watchSilenceMs: () => ({ pods: 2500, podEvents: Number.POSITIVE_INFINITY }),
  }).metrics()
  expect(text).toMatch(/^skylab_kubernetes_requests\{state="waiting"\} 5$/m)
  expect(text).toMatch(/^skylab_replica_places\{state="taken",subject_kind="lab"\} 23$/m)
  expect(text).toMatch(/^skylab_replica_places\{state="taken",subject_kind="toy"\} 2$/m)
  expect(text).toMatch(/^skylab_replica_operations\{subject_kind="lab"\} 30$/m)
  expect(text).toMatch(/^skylab_replica_operations\{subject_kind="toy"\} 2$/m)
  expect(text).toMatch(/^skylab_replica_operations\{subject_kind="other"\} 1$/m)
  expect(text).not.toMatch(/^skylab_replica_places\{.*"other"/m)
  expect(text).toMatch(/^skylab_kubernetes_watch_silence_seconds\{watch="pods"\} 2.5$/m)
  expect(text).not.toMatch(/watch="podEvents"/)
  expect(text).toMatch(/^skylab_build_info\{version="1.2.3",node="v\d+[\d.]+",run="labs"\} 1$/m)
})
