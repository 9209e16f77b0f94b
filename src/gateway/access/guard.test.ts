import { PassThrough } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { Gate } from './guard.ts'

/** A guard whose looks the test ends. */
class FakeGuard {
  passes = true
  open = true
  readonly looks: (() => void)[] = []

  mayPass = () => this.passes
  isOpen = () => this.open
  look = () => new Promise<void>(resolve => this.looks.push(resolve))
}

function gateOf(guard: FakeGuard) {
  const [from, to] = [new PassThrough(), new PassThrough()]
  const gate = new Gate(guard)
  const ended = pipeline(from, gate, to)
  ended.catch(() => {})
  return { from, to, gate, ended }
}

const settle = async () => {
  for (let i = 0; i < 10; i++) await setImmediate()
}

describe('Gate', () => {
  it('passes bytes on in order, and their end', async () => {
    const { from, to, ended } = gateOf(new FakeGuard())
    from.write('a')
    from.end('b')
    await ended
    expect(String(to.read())).toBe('ab')
  })

  it('keeps bytes until they may pass', async () => {
    const guard = new FakeGuard()
    const { from, to, ended } = gateOf(guard)
    guard.passes = false
    from.write('a')
    from.end('b')
    await settle()
    expect(to.read()).toBeNull()
    expect(guard.looks).toHaveLength(1)
    guard.passes = true
    guard.looks[0]!()
    await ended
    expect(String(to.read())).toBe('ab')
  })

  it('passes nothing on after a cut', async () => {
    const guard = new FakeGuard()
    const { from, to, ended } = gateOf(guard)
    guard.passes = false
    from.write('a')
    await settle()
    guard.open = false
    guard.looks[0]!()
    await expect(ended).rejects.toThrow('was cut')
    expect(to.read()).toBeNull()
  })

  it('does not wait for ever', async () => {
    const guard = new FakeGuard()
    const { from, ended } = gateOf(guard)
    guard.passes = false
    from.write('a')
    for (let i = 0; i < 3; i++) {
      await settle()
      guard.looks[i]!()
    }
    await expect(ended).rejects.toThrow('was cut')
  })
})
