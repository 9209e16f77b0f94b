import { afterEach, expect, test } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import { keepingLog } from '../../../test/kit/log.ts'
import { RetryLater } from '../../base/errors.ts'
import { readState, Vetting } from './vetting.ts'

let rights: object[] | Error = []
const requests: { path: string; accept: string | undefined }[] = []
const kube = {
  request: async (_: string, path: string, __: unknown, options: { accept?: string } = {}) => {
    requests.push({ path, accept: options.accept })
    return path === '/version' ? { major: '1', minor: '36' } : { items: [] }
  },
  list: async () => {
    if (rights instanceof Error) throw rights
    return [{ metadata: { name: 'admin' }, rules: rights }]
  },
} as never
const differs = 'warn: the cluster gives other rights than were vetted: see `skylab vet`'
const rule = { apiGroups: [''], resources: ['pods'], verbs: ['get'] }

let vetting: Vetting
afterEach(() => vetting.stop())

async function started(freezes: boolean, isVetted = true) {
  rights = []
  const vetted = await readState(kube)
  const [clock, log, changes] = [new ManualClock(), keepingLog(), [] as boolean[]]
  const onChange = () => void changes.push(vetting.frozen)
  const vettedFor = () => (isVetted ? vetted : undefined)
  vetting = new Vetting({ ...{ kube, vettedFor, freezes, clock, log, onChange }, intervalMs: 1_000 })
  expect([vetting.differences, vetting.frozen]).toEqual([undefined, false])
  vetting.start()
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= 100) {
      clock.advance(100)
      await new Promise(resolve => setImmediate(resolve))
    }
  }
  await pass(100)
  return { pass, log, changes }
}

test('Vetting freezes while the cluster gives more than was vetted', async () => {
  const { pass, changes, log } = await started(true)
  expect([vetting.differences, vetting.frozen]).toEqual([0, false])
  rights = [rule]
  await pass(1_500)
  expect([vetting.differences, vetting.frozen]).toEqual([1, true])
  rights = []
  await pass(1_500)
  expect([vetting.differences, changes]).toEqual([0, [true, false]])
  expect(log.messages).toEqual([differs, 'info: the cluster gives the rights that were vetted'])
})

test('Vetting only warns when it is not to freeze, and once for the same', async () => {
  const { pass, log } = await started(false)
  rights = [rule]
  await pass(5_000)
  expect([vetting.differences, vetting.frozen]).toEqual([1, false])
  expect(log.messages).toEqual([differs])
})

test('Vetting counts what is gone, and does not freeze for it', async () => {
  rights = [rule]
  const vetted = await readState(kube)
  const clock = new ManualClock()
  const options = { vettedFor: () => vetted, freezes: true, clock, log: keepingLog(), onChange: () => {} }
  rights = []
  vetting = new Vetting({ kube, ...options, intervalMs: 1_000 })
  vetting.start()
  while (vetting.differences === undefined) await new Promise(resolve => setImmediate(resolve))
  expect([vetting.differences, vetting.frozen]).toEqual([1, false])
})

test('Vetting freezes when the version was never vetted', async () => {
  await started(true, false)
  expect([vetting.differences, vetting.frozen]).toEqual([1, true])
})

test('Vetting keeps its last word when the API server does not answer', async () => {
  const { pass, log } = await started(true)
  rights = [rule]
  await pass(1_500)
  rights = new RetryLater('away')
  await pass(3_000)
  expect([vetting.frozen, log.messages]).toEqual([
    true,
    [differs, 'warn: the rights of the cluster cannot be compared'],
  ])
})

test('readState takes one list of all kinds', async () => {
  rights = []
  requests.length = 0
  await readState(kube)
  expect(requests.map(({ path }) => path)).toEqual(['/version', '/api', '/apis'])
  expect(requests[1]!.accept).toContain('APIGroupDiscoveryList')
})
