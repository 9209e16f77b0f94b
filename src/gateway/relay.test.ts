import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { type Gate, Relay } from './relay.ts'

/** A gate that a test opens. */
function gateOf() {
  const gate = { isShut: false, isGone: false, looks: 0, opened: Promise.withResolvers<void>() }
  const asked: Gate = {
    mayPass: () => !gate.isShut && !gate.isGone,
    isOpen: () => !gate.isGone,
    look: () => {
      gate.looks += 1
      return gate.opened.promise
    },
  }
  return { gate, asked }
}

function start(gate?: Gate) {
  const [from, to] = [new PassThrough(), new PassThrough()]
  const relay = new Relay({ from, to, gate, onEnd: () => to.end() })
  relay.start()
  let got = ''
  to.on('data', bytes => {
    got += bytes
  })
  const ended = once(to, 'end')
  const settle = async () => {
    for (let turn = 0; turn < 20; turn++) await new Promise(resolve => setImmediate(resolve))
  }
  return { from, to, relay, got: () => got, ended, settle }
}

test('Relay passes nothing while its gate is shut, and all in its order afterwards, with the end', async () => {
  const { gate, asked } = gateOf()
  const { from, got, ended, settle } = start(asked)
  from.write('a')
  await settle()
  gate.isShut = true
  from.write('b')
  from.write('c')
  from.end()
  await settle()
  expect([got(), gate.looks]).toEqual(['a', 1])
  gate.isShut = false
  gate.opened.resolve()
  await ended
  expect(got()).toBe('abc')
})

test('Relay passes no end while its gate is shut: it may have bytes too', async () => {
  const { gate, asked } = gateOf()
  const { from, to, got, ended, settle } = start(asked)
  from.write('a')
  await settle()
  gate.isShut = true
  from.end()
  await settle()
  expect([got(), to.writableEnded, gate.looks]).toEqual(['a', false, 1])
  gate.isShut = false
  gate.opened.resolve()
  await ended
})

test('Relay leaves bytes that nothing follows to its end, but none that waited', async () => {
  const { gate, asked } = gateOf()
  const [from, to] = [new PassThrough(), new PassThrough()]
  const ends: unknown[] = []
  const relay = new Relay({ from, to, gate: asked, isLast: () => true, onEnd: last => ends.push(last?.toString()) })
  from.end('whole')
  relay.start()
  await once(from, 'end')
  expect([ends, to.readableLength, relay.hasPassed]).toEqual([['whole'], 0, true])

  const [later, other] = [new PassThrough(), new PassThrough()]
  new Relay({ from: later, to: other, gate: asked, isLast: () => true, onEnd: last => ends.push(last) }).start()
  gate.isShut = true
  later.write('a')
  await new Promise(setImmediate)
  gate.isShut = false
  gate.opened.resolve()
  await once(other, 'readable')
  expect([String(other.read()), ends]).toEqual(['a', ['whole']])
})

test('Relay passes nothing any more when what it is of was cut', async () => {
  const { gate, asked } = gateOf()
  const { from, got, settle } = start(asked)
  gate.isShut = true
  from.write('a')
  await settle()
  gate.isGone = true
  gate.isShut = false
  gate.opened.resolve()
  await settle()
  expect(got()).toBe('')
})

test('Relay passes nothing after stop, and reads nothing', async () => {
  const { from, relay, got, settle } = start()
  from.write('a')
  await settle()
  relay.stop()
  from.write('b')
  await settle()
  expect([got(), from.isPaused()]).toEqual(['a', true])
})

test('Relay passes what its tap returns', async () => {
  const { from, relay, got, settle } = start()
  relay.tap = chunk => (String(chunk) === 'b' ? undefined : Buffer.from(`<${chunk}>`))
  for (const text of ['a', 'b', 'c']) {
    from.write(text)
    await settle()
  }
  expect(got()).toBe('<a><c>')
})

test('Relay stops its source while the other side takes nothing', async () => {
  const [from, to] = [new PassThrough(), new PassThrough({ highWaterMark: 10 })]
  new Relay({ from, to, onEnd: () => to.end() }).start()
  from.write(Buffer.alloc(1000))
  await new Promise(resolve => setImmediate(resolve))
  expect(from.isPaused()).toBe(true)
  to.resume()
  await once(to, 'drain')
  expect(from.isPaused()).toBe(false)
})

test('Relay shows its tap what was read before it starts', async () => {
  const { from, to } = { from: new PassThrough(), to: new PassThrough() }
  const relay = new Relay({ from, to, onEnd: () => to.end() })
  const tapped: string[] = []
  relay.tap = chunk => {
    tapped.push(chunk.toString())
    return chunk
  }
  relay.start(Buffer.from('early'))
  from.end('later')
  expect((await to.toArray()).join('')).toBe('earlylater')
  expect(tapped).toEqual(['early', 'later'])
})

test('Relay passes nothing when it was stopped before it starts', async () => {
  const { from, to } = { from: new PassThrough(), to: new PassThrough() }
  const relay = new Relay({ from, to, onEnd: () => to.end() })
  relay.stop()
  relay.start(Buffer.from('early'))
  from.end('later')
  await new Promise(resolve => setImmediate(resolve))
  expect([to.readableLength, to.writableEnded]).toEqual([0, false])
})
