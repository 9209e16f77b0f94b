/** Sources of images for tests, configured as by operators. */
import { onTestFinished } from 'vitest'
import { configSchema } from '../../../src/config/schema.ts'
import { createImageSource, type ImageSourceParts } from '../../../src/images/registry/create.ts'
import { hastyClock } from '../clock.ts'
import { FakeRegistry, TokenService } from './registry.ts'

export const imagesOf = (block: object) => configSchema.parse({ images: block }).images

/** A Docker config.json for one host. */
export const dockerConfig = (host: string, entry: object) => JSON.stringify({ auths: { [host]: entry } })
export const passwordOf = (user: string, password: string) => ({
  auth: Buffer.from(`${user}:${password}`).toString('base64'),
})

export const basic = (user: string, password: string) =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
export const credentialsOfAda = async (host: string) => dockerConfig(host, passwordOf('ada', 'secret-of-ada'))

/** A token service for these users, or for everybody. */
export function serviceOf(...users: [string, string][]): TokenService {
  const service = new TokenService()
  for (const [user, password] of users) service.users.set(user, password)
  return service
}

/** The message of a rejection, which must not contain any of the tests' secrets. */
export async function messageOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => new Error('not refused'),
    error => error,
  )
  if (/secret/.test(`${error.message} ${error.cause ?? ''}`)) throw new Error('the message contains a secret')
  return error.message
}

export interface RegistryTest {
  /** The block `images`, besides registry and repository. */
  readonly images?: object
  readonly tokens?: TokenService
  readonly credentials?: (host: string) => Promise<string | undefined>
}

/** A registry, and a source that reads it. Both end with the test. */
export async function registryAndSource({ images = {}, tokens, credentials }: RegistryTest = {}) {
  const registry = await FakeRegistry.start(tokens)
  const { host } = registry.server
  const clock = hastyClock()
  const block = { registry: host, docker: { repository: registry.repository }, ...images }
  const parts: ImageSourceParts = { images: imagesOf(block), clock, credentials: async () => credentials?.(host) }
  const source = createImageSource(parts)
  onTestFinished(async () => {
    await source.close()
    await registry.server.stop()
  })
  return { registry, server: registry.server, source, clock, host }
}
