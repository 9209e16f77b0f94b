import { expect, it } from 'vitest'
import {
  containerCount,
  type Facts,
  formatDispatchGuide,
  renderContainers,
  requireFacts,
  requireNothing,
} from './report.ts'

const container = {
  ...{ uuid: 'zzzzz-dz642-000000000000001', asked: 'replica-1', vcpus: 1, type: 'small', machine: 'lo-1' },
  ...{ state: 'Complete', exitCode: 0, runs: 1 },
}
const facts: Facts = {
  containers: Array.from({ length: containerCount }, () => container),
  orphan: { uuid: container.uuid, machine: 'lo-1', killed: 'replica-1', keptBy: 'replica-2', sameProcess: true },
  inside: { asked: 'replica-2', shell: true, port: true, unkept: true },
  ...{ held: 'lo-2', drained: 'lo-3', late: [], stayed: ['lo-2'] },
}
const withOne = (over: Partial<typeof container>) => [...facts.containers.slice(1), { ...container, ...over }]

it('requireFacts takes what the story says', () => {
  expect(() => requireFacts(facts)).not.toThrow()
})

it.each<[string, Partial<Facts>, RegExp]>([
  ['a container is missing', { containers: facts.containers.slice(1) }, /11 containers, not 12/],
  ['one was cancelled', { containers: withOne({ state: 'Cancelled' }) }, /is Cancelled/],
  ['one failed', { containers: withOne({ exitCode: 1 }) }, /exit code 1/],
  ['one began twice', { containers: withOne({ runs: 2 }) }, /began 2 times/],
  ['another process went on', { orphan: { ...facts.orphan, sameProcess: false } }, /no longer the process/],
  ['the shell was cut', { inside: { ...facts.inside, shell: false } }, /the shell in .* did not go on/],
  ['the port was not reached', { inside: { ...facts.inside, port: false } }, /the port of .* was not reached/],
  ['the next keeper came too soon', { inside: { ...facts.inside, unkept: false } }, /lo-1 had a keeper again/],
  ['a held or drained machine got more', { late: ['zzzzz-1'] }, /began there: zzzzz-1/],
  ['another machine stayed', { stayed: ['lo-2', 'lo-4'] }, /lo-2 lo-4 stayed, where lo-2 is held/],
  ['the held machine did not stay', { stayed: [] }, /no machine stayed, where lo-2 is held/],
])('requireFacts fails when %s', (_, over, words) => {
  expect(() => requireFacts({ ...facts, ...over })).toThrow(words)
})

it('requireNothing fails when something is left, and names it', () => {
  expect(() => requireNothing({ machine: false, processes: 0, folder: false })).not.toThrow()
  expect(() => requireNothing({ machine: true, processes: 2, folder: true })).toThrow(
    'left: the held machine, 2 processes of machines, the folder of the run',
  )
})

it('renderContainers makes a line for each container, in columns', () => {
  const lines = renderContainers([container, { ...container, machine: 'lo-12345' }]).split('\n')
  expect(lines).toHaveLength(3)
  expect(new Set(lines.map(line => line.search(/state|Complete/))).size).toBe(1)
})

it('formatDispatchGuide names addresses and the files with tokens, and shows no token', () => {
  const guide = formatDispatchGuide({
    ...{ url: 'http://127.0.0.1:1', redis: 'redis://127.0.0.1:2', ...facts, left: null },
    replicas: [{ name: 'replica-1', url: 'http://127.0.0.1:1', pid: 7 }],
    tokens: { users: '/run/tokens.yaml', management: '/run/management.token' },
    seconds: { ready: 1, firstContainer: 1, takeOver: 1, allComplete: 1, empty: 1, killed: null },
  })
  expect(guide).toMatch(/^REST +http:\/\/127\.0\.0\.1:1\/dispatch\/v1$/m)
  expect(guide).toContain('$(cat /run/management.token)')
  expect(guide).toContain('http://127.0.0.1:1/arvados/v1/dispatch/instances/run?instance_id=lo-2')
})
