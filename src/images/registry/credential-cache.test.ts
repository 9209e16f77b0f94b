import { expect, it, vi } from 'vitest'
import { hastyClock } from '../../../test/kit/clock.ts'
import { CredentialCache } from './credential-cache.ts'

it('CredentialCache reads once for concurrent callers, and again on renew', async () => {
  const read = vi.fn(async () => `read ${read.mock.calls.length} times`)
  const cache = new CredentialCache(read, hastyClock())
  expect(await Promise.all([cache.current(), cache.current(), cache.renew()])).toEqual(Array(3).fill('read 1 times'))
  expect(await cache.current()).toBe('read 1 times')
  expect(await Promise.all([cache.renew(), cache.renew()])).toEqual(Array(2).fill('read 2 times'))
})

it('CredentialCache reads again after a failure', async () => {
  const read = vi
    .fn<() => Promise<string>>()
    .mockRejectedValueOnce(new Error('no Kubernetes'))
    .mockResolvedValue('there')
  const cache = new CredentialCache(read, hastyClock())
  await expect(cache.current()).rejects.toThrow('cannot be read')
  expect(await cache.current()).toBe('there')
})
