/** The API of labs, on a stack with nodes of KWOK. */
import { setupStack, startStack } from '../stack/stack.ts'
import { rates, type SetupScene } from './scene.ts'

const choice = { realNode: 'never', kwok: 1 } as const
const administrator = 'admin'

export const setupLabs: SetupScene = async (progress, signal) => {
  const tools = await setupStack({ ...choice, audit: false }, progress, signal)
  return async options => {
    // One of them is the administrator.
    const users = options.users + 1
    const stack = await startStack({ ...choice, ...options, tools, users, overrides: { api: { rates } } })
    const { [administrator]: admin, ...others } = stack.users
    const tokens = Object.fromEntries(Object.entries(others).map(([name, { token }]) => [name, token]))
    const document = `${stack.url}/nublado/spawner/v1/openapi.json`
    return { document, replicas: stack.replicas, people: { admin: admin!.token, users: tokens }, timeoutSeconds: 60 }
  }
}
