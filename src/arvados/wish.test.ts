import { describe, expect, it } from 'vitest'
import { type ArvadosRecord, pageOf, recordOf } from './answers.ts'
import { bodyOf } from './wish.ts'

const image = 'd41d8cd98f00b204e9800998ecf8427e+0'
const token = 'zzzzz-gj3su-000000000000000'
const uuid = 'zzzzz-dz642-000000000000000'
const raw = {
  ...{
    uuid,
    state: 'Queued',
    priority: 3 * 2 ** 50 - 1,
    locked_by_uuid: null,
    command: ['true'],
    container_image: image,
  },
  ...{ cwd: '/out', environment: { A: 'b' }, mounts: { '/out': { kind: 'tmp', capacity: 7 } }, service: false },
  runtime_constraints: { vcpus: 2, ram: 5, API: false, keep_cache_ram: 9, gpu: { device_count: 1 } },
  ...{ scheduling_parameters: { preemptible: true, max_run_time: 60, partitions: [] }, published_ports: {} },
}
const record = (more: object = {}) => recordOf({ ...raw, ...more }) as ArvadosRecord
const rules = { images: new Map([[image, 'busybox:1']]), withoutImage: false }

describe('bodyOf', () => {
  it('makes the body that REST would be sent', () => {
    expect(bodyOf(record(), rules)).toEqual({
      body: {
        ...{ command: ['true'], container_image: 'busybox:1', cwd: '/out', environment: { A: 'b' }, priority: 3 },
        mounts: { '/out': { kind: 'tmp', capacity: 7 } },
        runtime_constraints: { vcpus: 2, ram: 5, gpus: 1 },
        scheduling_parameters: { preemptible: true, supervisor: false, max_run_time: 60 },
        container_count_max: 1,
      },
    })
  })

  it.each([
    [{ mounts: { '/d': { kind: 'collection' } } }, 'mounts./d: its data is in Keep, which Skylab does not mount'],
    [{ mounts: { stdout: { kind: 'file' } } }, 'mounts.stdout.kind: is file, and only tmp can be mounted'],
    [{ mounts: { 'a\u202eb': { kind: 'json' } } }, 'mounts.a?b.kind: is json, and only tmp can be mounted'],
    [
      { runtime_constraints: { vcpus: 1, ram: 1, API: true } },
      'runtime_constraints.API: it asks for a token of Arvados, which Skylab does not give',
    ],
    [{ service: true }, 'service: its ports would have to be published'],
    [{ published_ports: { 80: {} } }, 'service: its ports would have to be published'],
    [
      { container_image: 'other' },
      'container_image: other is an image in Keep, and dispatch.queue.arvados.images has no name for it',
    ],
  ])('says why when the container is %j', (more, why) => {
    expect(bodyOf(record(more), rules)).toEqual({ why: `Skylab cannot run it: ${why}` })
  })

  it('needs no name of an image when machines run none', () => {
    const made = bodyOf(record({ container_image: 'other' }), { ...rules, withoutImage: true })
    expect(made).toMatchObject({ body: { container_image: '' } })
  })
})

describe('recordOf', () => {
  it.each([
    [{ command: 'true' }, 'command'],
    [{ command: Array(1001).fill('x') }, 'command'],
    [{ environment: { A: 1 } }, 'environment.A'],
    [{ runtime_constraints: { ram: 1e300 } }, 'runtime_constraints.ram'],
    [{ cwd: 'x'.repeat(300_000) }, 'cwd'],
    [{ uuid: '../users/x' }, 'uuid'],
    [{ priority: 'high' }, 'priority'],
  ])('names the field when the record has %.40j', (more, field) => {
    expect(recordOf({ ...raw, ...more })).toEqual({ problem: `${field}: is not as Arvados has it` })
  })

  it('names the record when it is none', () => {
    expect(recordOf('x')).toEqual({ problem: 'the record: is not as Arvados has it' })
  })
})

describe('pageOf', () => {
  it('leaves out and counts records that are not as they must be, and knows our lock', () => {
    const items = [{ ...raw, locked_by_uuid: token }, { ...raw, state: 'Odd' }, null, 'x', { ...raw, uuid: "x'" }]
    const { items: read, bad } = pageOf({ items }, token, 5)!
    expect(bad).toBe(4)
    expect(read).toEqual([{ uuid, state: 'Queued', priority: 3, rank: raw.priority, mine: true }])
  })

  it.each([null, 'x', {}, { items: 1 }, { items: [raw, raw] }])('takes no page when it is %.20j', value => {
    expect(pageOf(value, token, 1)).toBeUndefined()
  })
})
