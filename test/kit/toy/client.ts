/** Requests to the world of toys. */
import { RetryLater } from '../../../src/base/errors.ts'
import type { ToyClient } from './kind.ts'

export const clientOf = (url: string, replica: string): ToyClient => ({
  ask: async (method, path, { body, agent, epoch, signal }) => {
    const headers = { 'user-agent': `${replica} ${agent}`, 'x-epoch': String(epoch) }
    const json = body && JSON.stringify(body)
    try {
      const response = await fetch(`${url}/${path}`, { method, headers, signal, ...(json && { body: json }) })
      return { code: response.status, ...((await response.json()) as object) }
    } catch (error) {
      signal.throwIfAborted()
      throw new RetryLater('the world of toys does not answer', undefined, { cause: error })
    }
  },
})
