import { expect, it } from 'vitest'
import { verdictOf } from './verdict.ts'

const answered = (status: number, count: number) =>
  `skylab_http_request_duration_seconds_count{method="GET",route="/a",status="${status}"} ${count}\n`
const told = (statuses: readonly number[], log = '{"level":"info"}\n') => ({
  metrics: statuses.map(status => answered(status, 2)).join(''),
  log,
})

it('verdictOf adds the answers of all replicas', () => {
  expect(verdictOf(0, [told([200, 404]), told([200])])).toEqual({ ok: true, answers: { 200: 4, 404: 2 }, faults: 0 })
})

it.each([
  ['the program of a container is silent, or speaks no HTTP', true, 0, told([501, 502, 503, 504])],
  ['a replica answered 500', false, 0, told([200, 500])],
  ['a replica logged an error', false, 0, told([200], '{"level":"error"}\n')],
  ['a check failed', false, 1, told([200])],
] as const)('verdictOf when %s: %s', (_, ok, code, replica) => {
  expect(verdictOf(code, [replica]).ok).toBe(ok)
})
