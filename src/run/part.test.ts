import { expect, it } from 'vitest'
import { closeParts, type Stage, startParts, stopParts } from './part.ts'

/** Three stages, and a log of their calls. Stopping and closing end a moment later. */
function stages() {
  const log: string[] = []
  const part = (name: string) => {
    const end = (what: string) => async () => {
      log.push(`${what} ${name}`)
      await new Promise(setImmediate)
      log.push(`${name} is done`)
    }
    return { start: () => void log.push(`start ${name}`), stop: end('stop'), close: end('close') }
  }
  const all: Stage[] = [
    { when: 'first', parts: [part('a')] },
    { when: 'reached', parts: [part('b'), {}, part('c')] },
    { when: 'reached', parts: [part('d')] },
  ]
  return { all, log }
}

it('startParts starts only the parts of its stage, in their order', () => {
  const { all, log } = stages()
  startParts(all, 'reached')
  startParts(all, 'first')
  expect(log).toEqual(['start b', 'start c', 'start d', 'start a'])
})

it('stopParts stops all parts at the same time, in their order', async () => {
  const { all, log } = stages()
  await stopParts(all)
  expect(log.slice(0, 4)).toEqual(['stop a', 'stop b', 'stop c', 'stop d'])
  expect(log).toHaveLength(8)
})

it('closeParts closes in reverse order, each stage after the next one is closed', async () => {
  const { all, log } = stages()
  await closeParts(all)
  expect(log).toEqual([
    ...['close d', 'd is done'],
    ...['close b', 'close c', 'b is done', 'c is done'],
    ...['close a', 'a is done'],
  ])
})
