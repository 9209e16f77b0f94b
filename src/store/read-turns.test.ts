import { describe, expect, it } from 'vitest'
import { RetryLater, unavailable } from '../base/errors.ts'
import { ReadTurns } from './read-turns.ts'

const settled = () => new Promise(resolve => setImmediate(resolve))

/** Readings whose answers the test gives, in the order in which they were asked. */
function makeTurns(atOnce: number) {
  const turns = new ReadTurns(atOnce)
  const asked: string[] = []
  const answers = new Map<string, PromiseWithResolvers<string>>()
  const run = (name: string, signal?: AbortSignal) => {
    const answer = Promise.withResolvers<string>()
    answers.set(name, answer)
    const reading = turns.run(() => {
      asked.push(name)
      return answer.promise
    }, signal)
    return reading.catch((error: unknown) => error)
  }
  const answer = async (name: string, error?: Error) => {
    if (error) answers.get(name)!.reject(error)
    else answers.get(name)!.resolve(name)
    await settled()
  }
  return { run, answer, asked }
}

describe('ReadTurns', () => {
  it('asks for no more at once than it may', async () => {
    const { run, answer, asked } = makeTurns(2)
    const readings = ['a', 'b', 'c'].map(name => run(name))
    await settled()
    expect(asked).toEqual(['a', 'b'])
    await answer('b')
    expect(asked).toEqual(['a', 'b', 'c'])
    await answer('a')
    await answer('c')
    expect(await Promise.all(readings)).toEqual(['a', 'b', 'c'])
  })

  it.each([
    ['is no answer', new RetryLater('Redis does not answer')],
    ['are no compared data', unavailable('comparing')],
  ])('asks nothing for those that wait when there %s to one of them', async (_, silence) => {
    const { run, answer, asked } = makeTurns(1)
    const readings = ['a', 'b', 'c'].map(name => run(name))
    await settled()
    await answer('a', silence)
    expect(await Promise.all(readings)).toEqual([silence, silence, silence])
    expect(asked).toEqual(['a'])
  })

  it('asks for those that come after a silence', async () => {
    const { run, answer } = makeTurns(1)
    const first = run('a')
    await settled()
    await answer('a', new RetryLater('away'))
    await first
    const second = run('b')
    await answer('b')
    expect(await second).toBe('b')
  })

  it('asks for those that wait when another reading was answered after the silence', async () => {
    const { run, answer, asked } = makeTurns(2)
    const readings = ['a', 'b', 'c', 'd'].map(name => run(name))
    await settled()
    const silence = new RetryLater('away')
    await Promise.all([answer('a', silence), answer('b')])
    await answer('c')
    await answer('d')
    expect(asked).toContain('d')
    expect((await Promise.all(readings)).slice(1)).toContain('d')
  })

  it('asks for those that wait when one failed for a reason of its own', async () => {
    const { run, answer } = makeTurns(1)
    const readings = ['a', 'b'].map(name => run(name))
    await settled()
    const defect = new TypeError('a bug')
    await answer('a', defect)
    await answer('b')
    expect(await Promise.all(readings)).toEqual([defect, 'b'])
  })

  it('asks nothing for a reader that has left', async () => {
    const { run, answer, asked } = makeTurns(1)
    const left = new AbortController()
    const readings = [run('a'), run('b', left.signal), run('c')]
    await settled()
    const reason = new Error('left')
    left.abort(reason)
    await answer('a')
    await answer('c')
    expect(await Promise.all(readings)).toEqual(['a', reason, 'c'])
    expect(asked).toEqual(['a', 'c'])
  })
})
