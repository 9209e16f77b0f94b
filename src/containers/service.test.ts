import { describe, expect, it, vi } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { shownContainer } from '../../test/kit/dispatch/shown-container.ts'
import type { ContainerAccepted, NewContainer } from '../store/dispatch/containers.ts'
import { type ContainerAsker, type ContainerOptions, ContainerService } from './service.ts'
import type { ContainerWish } from './wish.ts'

const asker: ContainerAsker = { caller: { username: 'ann', groups: [] }, audience: 'user' }
const wish: ContainerWish = {
  ...{ command: ['true'], container_image: 'busybox', environment: { A: 'b', MY_TOKEN: 'c' }, cwd: '.' },
  ...{
    secret_environment: { D: 'e' },
    mounts: { '/a': { kind: 'tmp', capacity: 5 }, '/b': { kind: 'tmp', capacity: 6 } },
  },
  runtime_constraints: { vcpus: 1, ram: 10, gpus: 0 },
  scheduling_parameters: { preemptible: false, supervisor: true, max_run_time: 60 },
  ...{ container_count_max: 3, priority: 7 },
}

function service(accepted: ContainerAccepted = { answer: 'accepted', uuid: 'u' }, store: object = {}) {
  const accept = vi.fn(async (_: NewContainer) => accepted)
  const options: ContainerOptions = {
    store: { accept, find: async () => ({ ...shownContainer(), status: '' }), ...store } as never,
    streams: { open: async () => null },
    onMore: () => () => {},
    sealer: { seal: (text, name, nonce, keyId) => [text, name, nonce, keyId].join(' ') },
    types: () => [
      {
        ...{ name: 'small', group: 's', vcpus: 2, ramBytes: 100, scratchBytes: 11, gpus: 0, preemptible: false },
        price: 1,
      },
    ],
    rules: { maximumPriceFactor: 1, reserveExtraRamBytes: 0 },
    tenancy: { tenantOf: async (_, named = 'default') => named },
    isSecret: name => name.includes('TOKEN'),
    clock: new ManualClock(),
  }
  return { service: new ContainerService(options), accept }
}

describe('create', () => {
  it('masks what is shown, seals what is run, and tells what is needed', async () => {
    const { service: containers, accept } = service()
    await containers.create(wish, asker, 'key')
    const [given] = accept.mock.calls[0]!
    expect(given).toMatchObject({
      priority: 7,
      view: { owner: 'ann', environment: { A: 'b', MY_TOKEN: '***', D: '***' }, container_count_max: 3 },
      shape: { need: { vcpus: 1, ramBytes: 10, scratchBytes: 11, gpus: 0, preemptible: false }, supervisor: true },
      idempotency: { key: 'key', bodyHash: expect.stringMatching(/^[0-9a-f]{64}$/) },
    })
    const sealed = given.sealSpec('k', 'container:u', 'n')
    expect(sealed).toMatch(/ container:u n k$/)
    expect(JSON.parse(sealed.slice(0, sealed.indexOf(' container:')))).toEqual({
      ...{ command: ['true'], image: 'busybox', cwd: '.', mounts: wish.mounts, vcpus: 1, ramBytes: 10 },
      ...{ environment: { A: 'b', MY_TOKEN: 'c', D: 'e' }, maxRunSeconds: 60 },
    })
  })

  it('has one hash for one body, whatever the order of its keys', async () => {
    const { service: containers, accept } = service()
    await containers.create(wish, asker, 'key')
    await containers.create({ ...wish, environment: { MY_TOKEN: 'c', A: 'b' } }, asker, 'key')
    await containers.create({ ...wish, secret_environment: { D: 'f' } }, asker, 'key')
    const [one, same, other] = accept.mock.calls.map(([{ idempotency }]) => idempotency!.bodyHash)
    expect([one === same, one === other]).toEqual([true, false])
  })

  it.each([
    [{ answer: 'mismatch' }, 422],
    [{ answer: 'sealed' }, 503],
    [{ answer: 'full', of: 'owner', by: 'number' }, 429],
    [{ answer: 'full', of: 'all', by: 'number' }, 503],
  ] as const)('is refused when the store answers %j', async (answer, status) => {
    await expect(service(answer).service.create(wish, asker)).rejects.toMatchObject({ status })
  })

  it.each([
    ['owner', 429, /^your containers .* bytes/],
    ['all', 503, /^all containers .* bytes/],
  ] as const)('names bytes, and a time, when those of %s are too many', async (of, status, words) => {
    const { service: containers } = service({ answer: 'full', of, by: 'bytes' })
    await expect(containers.create(wish, asker)).rejects.toMatchObject({
      ...{ status, headers: { 'Retry-After': '30' } },
      detail: [{ msg: expect.stringMatching(words) }],
    })
  })

  it('answers 410 when the container of its key is not kept any more, so that it is not queued again', async () => {
    const { service: containers } = service({ answer: 'repeated', uuid: 'u' }, { find: async () => null })
    await expect(containers.create(wish, asker, 'key')).rejects.toMatchObject({ status: 410 })
  })

  it('asks nobody when no type fits, or it is larger than a runner takes', async () => {
    const { service: containers, accept } = service()
    const large = { ...wish, runtime_constraints: { ...wish.runtime_constraints, ram: 101 } }
    await expect(containers.create(large, asker)).rejects.toMatchObject({ status: 422 })
    const long = { ...wish, environment: { A: 'a'.repeat(520 * 1024) } }
    await expect(containers.create(long, asker)).rejects.toMatchObject({ status: 422 })
    expect(accept).not.toHaveBeenCalled()
  })
})

describe('prioritise', () => {
  it.each([
    ['none', 404],
    ['ended', 409],
    ['often', 429],
  ] as const)('is refused when the store answers %s', async (answer, status) => {
    const { service: containers } = service(undefined, { change: async () => answer })
    await expect(containers.prioritise('u', 7, asker)).rejects.toMatchObject({ status })
  })
})

describe('list', () => {
  it('shows a user nobody else’s, whatever the filter says', async () => {
    const list = vi.fn(async () => ({ containers: [], next: undefined }))
    const { service: containers } = service(undefined, { list })
    await containers.list({ owner: 'root', limit: 1 }, asker)
    await containers.list({ owner: 'bob', limit: 1 }, { ...asker, audience: 'admin' })
    await containers.list({ limit: 1 }, { ...asker, audience: 'admin' })
    expect(list.mock.calls).toEqual([[{ limit: 1, owner: 'ann' }], [{ limit: 1, owner: 'bob' }], [{ limit: 1 }]])
  })
})

describe('events', () => {
  it('are refused when the id is none, before anybody looks for the container', async () => {
    const find = vi.fn()
    const { service: containers } = service(undefined, { find })
    const asked = containers.events('u', asker, 'x', new AbortController().signal)
    await expect(asked).rejects.toMatchObject({ status: 400 })
    expect(find).not.toHaveBeenCalled()
  })
})
