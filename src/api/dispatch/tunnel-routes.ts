/** Declares the routes into running containers; their handlers are in `tunnel-handlers.ts`. */
import { createRoute, z } from '@hono/zod-openapi'
import { portOf } from '../../dispatch/tunnel.ts'
import { forContainers, type ProblemName, refusals } from '../document/problems.ts'
import { plainHeaders } from '../document/schemas.ts'
import { requires } from '../document/security.ts'
import { type DispatchAudience, prefixes } from './parts.ts'
import { type ApiConfig, scopes, suffixes } from './routes.ts'
import { containerPath } from './schemas.ts'
import * as words from './tunnel-words.ts'

export const portMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const
/** Without a body in their answers, HEAD and OPTIONS are in no list of operations. */
const documented = ['get', 'post', 'put', 'patch', 'delete'] as const

const port = z
  .string()
  .refine(text => portOf(text) !== undefined, { error: 'is not a number from 1 to 65535' })
  .transform(Number)
  .openapi({ type: 'integer', minimum: 1, maximum: 65_535, description: 'the port in the container', example: 8080 })

export const portPath = containerPath.extend({ port })

const documentedPath = portPath.extend({
  path: z.string().openapi({ description: 'the path in the container; may have slashes', example: 'metrics' }),
})

const ofTunnels = [
  'badContainerId',
  'noContainer',
  'shellOff',
  'containerOver',
  'notRunning',
  'tooManyTunnels',
  'crowdedTunnels',
] as const

export function tunnelRoutes(audience: DispatchAudience, { identity }: ApiConfig) {
  const common = { tags: ['containers'], security: requires(identity, scopes[audience]) }
  const path = `${prefixes[audience]}/containers/{uuid}`
  const problems = [...forContainers[audience], 'ofPage', ...ofTunnels, 'unreached'] as readonly ProblemName[]
  const shell = createRoute({
    ...{ ...common, method: 'post', path: `${path}/shell`, operationId: `openShell${suffixes[audience]}` },
    ...{ summary: 'A shell in a container', description: words.shellWords },
    request: { params: containerPath, headers: plainHeaders },
    responses: { 101: { description: 'SSH follows' }, ...refusals([...problems, 'shellOnly']) },
  })
  const ports = documented.map(method =>
    createRoute({
      ...{ ...common, method, path: `${path}/ports/{port}/{path}` },
      operationId: `${method}Port${suffixes[audience]}`,
      ...{ summary: 'A port of a container', description: words.portWords },
      request: { params: documentedPath, headers: plainHeaders },
      responses: {
        default: { description: 'the answer of the program in the container, whatever it is' },
        ...refusals([...problems, 'badPort', 'silentContainer', 'unframedBody']),
      },
    }),
  )
  return { shell, ports }
}
