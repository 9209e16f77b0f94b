import type { IncomingMessage } from 'node:http'
import { expect, it } from 'vitest'
import { trustIn } from '../../base/source.ts'
import { Sources } from './sources.ts'

const from = (remoteAddress: string | undefined, forwarded?: string) =>
  ({ socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } }) as unknown as IncomingMessage

it('Sources reads each way anew that it does not know, and remembers those of a usual length', () => {
  let asked = 0
  const trusts = trustIn(['10.0.0.0/8'])
  const sources = new Sources(address => {
    asked += 1
    return trusts(address)
  })
  const ask = (remote: string | undefined, forwarded?: string) => {
    const before = asked
    return [sources.of(from(remote, forwarded)), asked - before]
  }
  const through = { address: '192.0.2.1', proxy: '10.0.0.1' }
  expect(ask('10.0.0.1', '192.0.2.1')).toEqual([through, 1])
  expect(ask('10.0.0.1', '192.0.2.1')).toEqual([through, 0])
  expect(ask('10.0.0.1', '192.0.2.2')).toEqual([{ ...through, address: '192.0.2.2' }, 1])
  expect(ask('10.0.0.1')).toEqual([{ address: '10.0.0.1' }, 0])
  expect(ask('192.0.2.9', '192.0.2.1')).toEqual([{ address: '192.0.2.9', claimed: ['192.0.2.1'] }, 1])
  expect(ask(undefined, '192.0.2.1')).toEqual([{}, 0])
  const long = `192.0.2.1${', 10.0.0.2'.repeat(30)}`
  expect([ask('10.0.0.1', long)[1], ask('10.0.0.1', long)[1]]).not.toContain(0)
})
