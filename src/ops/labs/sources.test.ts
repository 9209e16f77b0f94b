import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import type { KubeObject } from '../../base/domain.ts'
import { RetryLater } from '../../base/errors.ts'
import { configSchema } from '../../config/schema.ts'
import { type CallOptions, KubeError, type ObjectRef } from '../../kube/client.ts'
import { noTracing } from '../../telemetry/tracing.ts'
import { Sources } from './sources.ts'

const span = noTracing.request(undefined)
const value = (text: string) => Buffer.from(text).toString('base64')

/** Sources of one Secret and one ConfigMap, which a test provides, on a cluster that counts requests. */
function makeSources(
  secrets: object[] = [
    { name: 'lab', key: 'db' },
    { name: 'lab', key: 'again' },
  ],
) {
  const clock = new ManualClock()
  const asked: string[] = []
  const logged: { level: string; fields: object }[] = []
  const standing: Record<string, object | undefined> = {
    lab: { data: { db: value('one'), again: '' } },
    files: { data: { a: 'b' } },
  }
  const cluster = {
    answer: async ({ name }: ObjectRef, _: CallOptions): Promise<KubeObject | null> =>
      (standing[name] as KubeObject | undefined) ?? null,
  }
  const kube = {
    get: (ref: ObjectRef, call: CallOptions = {}) => {
      asked.push(`${ref.kind} ${ref.namespace}/${ref.name}`)
      return cluster.answer(ref, call)
    },
  }
  const { lab } = configSchema.parse({
    lab: { secrets, volumes: [{ name: 'docs', configMap: { name: 'files' } }] },
  })
  const keep = (level: string) => (fields: object) => void logged.push({ level, fields })
  const log = { warn: keep('warn'), error: keep('error') }
  const options = { lab, namespace: 'own', kube, clock, timeoutMs: 10_000 }
  const sources = new Sources({ ...options, log: log as never })
  return { sources, clock, asked, logged, standing, cluster, read: () => sources.read(span) }
}

const copies = { secrets: { db: value('one'), again: '' }, configMaps: { docs: { data: { a: 'b' } } } }
const oneRound = ['Secret own/lab', 'ConfigMap own/files']

describe('Sources', () => {
  it('reads each object once, in the controller’s own namespace', async () => {
    const { read, asked } = makeSources()
    expect(await read()).toEqual(copies)
    expect(asked).toEqual(oneRound)
  })

  it('reads nothing when nothing is copied', async () => {
    const asked: string[] = []
    const kube = { get: async () => void asked.push('asked') } as never
    const { lab } = configSchema.parse({})
    const options = { lab, namespace: 'own', kube, clock: new ManualClock(), timeoutMs: 1000 }
    const sources = new Sources({ ...options, log: {} as never })
    expect(await sources.read(span)).toEqual({ secrets: {}, configMaps: {} })
    expect(asked).toEqual([])
  })

  it('reads once for a thousand concurrent creations', async () => {
    const { read, asked } = makeSources()
    const all = await Promise.all(Array.from({ length: 1000 }, read))
    expect(new Set(all).size).toBe(1)
    expect(asked).toEqual(oneRound)
  })

  it('returns copies that are at most 5 seconds old', async () => {
    const { read, asked, clock, standing } = makeSources()
    await read()
    standing.lab = { data: { db: value('rotated'), again: '' } }
    clock.advance(4_999)
    expect(await read()).toEqual(copies)
    clock.advance(1)
    expect((await read()).secrets.db).toBe(value('rotated'))
    expect(asked).toEqual([...oneRound, ...oneRound])
  })

  it('names missing objects, reads no more often for them, and logs them once', async () => {
    const { read, asked, clock, standing, logged } = makeSources()
    standing.lab = undefined
    for (let i = 0; i < 3; i++) {
      await expect(read()).rejects.toMatchObject({
        status: 500,
        detail: [{ msg: 'The Secret lab in the namespace own is missing', type: 'misconfigured' }],
        headers: {},
      })
    }
    expect(asked).toEqual(oneRound)
    expect(logged).toEqual([
      { level: 'error', fields: { problems: ['The Secret lab in the namespace own is missing'] } },
    ])
    standing.lab = { data: { db: value('one'), again: '' } }
    clock.advance(5_000)
    expect(await read()).toEqual(copies)
  })

  it('reveals no value in its errors', async () => {
    const { read, logged, standing } = makeSources([{ name: 'lab', key: 'db', pull: true }])
    standing.lab = { data: { db: value('hunter2') } }
    const error = await read().catch(error => error)
    expect(JSON.stringify([error.detail, logged])).toContain('is no Docker config.json')
    expect(JSON.stringify([error.detail, logged])).not.toMatch(/hunter2|aHVudGVyMg/)
  })

  it('distinguishes a refusal from absence', async () => {
    const { read, cluster, logged } = makeSources()
    cluster.answer = async () => {
      throw new KubeError(403, 'Forbidden', 'secrets "lab" is forbidden')
    }
    await expect(read()).rejects.toMatchObject({
      detail: [
        {
          msg: 'The Secret lab in the namespace own cannot be read, since the controller lacks the right: apply what `skylab rights` prints',
        },
        {
          msg: 'The ConfigMap files in the namespace own cannot be read, since the controller lacks the right: apply what `skylab rights` prints',
        },
      ],
    })
    expect(logged[0]).toMatchObject({ level: 'error', fields: { reason: 'secrets "lab" is forbidden' } })
  })

  it('throws RetryLater when the API server does not answer, and asks again next time', async () => {
    const { read, asked, cluster } = makeSources()
    const { answer } = cluster
    cluster.answer = async () => {
      throw new RetryLater('away')
    }
    await expect(read()).rejects.toThrow(RetryLater)
    cluster.answer = answer
    expect(await read()).toEqual(copies)
    expect(asked).toEqual([...oneRound, ...oneRound])
  })

  it('waits at most for its limit, which concurrent calls share', async () => {
    const { read, asked, clock, cluster, logged } = makeSources()
    cluster.answer = (_, { signal }) =>
      new Promise((_, reject) => signal!.addEventListener('abort', () => reject(signal!.reason)))
    const first = read().catch(error => error)
    clock.advance(6_000)
    const second = read().catch(error => error)
    clock.advance(4_000)
    expect(await first).toBeInstanceOf(RetryLater)
    expect(await second).toBe(await first)
    expect(asked).toEqual(oneRound)
    expect(logged).toEqual([
      { level: 'warn', fields: { reason: 'Kubernetes does not answer for now: no answer within 10000 ms' } },
    ])
  })

  it('rethrows unexpected errors', async () => {
    const { read, cluster } = makeSources()
    cluster.answer = async () => {
      throw new TypeError('a bug')
    }
    await expect(read()).rejects.toThrow(TypeError)
  })
})
