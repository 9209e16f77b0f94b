/** Kinds of values that several blocks of the configuration share. */
import { z } from 'zod'
import { isLoopback } from '../base/loopback.ts'
import { parseQuantity } from '../base/quantity.ts'

export const seconds = (value: number) => z.number().positive().default(value)
export const ms = (value: number) => z.number().int().positive().default(value)

export const cidr = z.union([z.cidrv4(), z.cidrv6()], { error: 'not a CIDR, such as 10.0.0.0/8' })

/** A quantity of memory; converted to bytes. */
export const memory = z
  .union([z.string(), z.number().positive()], { error: 'not a Kubernetes quantity' })
  .transform((value, context) => {
    try {
      const bytes = Math.round(parseQuantity(value))
      if (bytes > 0) return bytes
      context.addIssue('must be greater than 0')
    } catch {
      context.addIssue('not a Kubernetes quantity')
    }
    return z.NEVER
  })
  .describe('a Kubernetes quantity, such as 4Gi, or bytes')

/** An amount of resources of a container. */
export const resources = z.strictObject({
  cpu: z.number().positive().describe('CPUs'),
  memory,
})

/** Limits and requests of a container. */
export const containerResources = {
  limits: resources
    .extend({
      storage: memory
        .optional()
        .describe(
          'the maximum of the node’s disk, with folders that are deleted with the lab; default: `lab.defaultStorage`',
        ),
    })
    .describe('the maximum'),
  requests: resources
    .extend({ storage: memory.optional().describe('disk of the node; default: none') })
    .optional()
    .describe('the reservation on a node; default: a quarter of the limits, and no disk'),
}

/** The name of an object of Kubernetes. */
export const objectName = z
  .string()
  .regex(/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/, { error: 'not a name that Kubernetes accepts' })

/** A key of a Secret or a ConfigMap, and the name of the file that it becomes. */
export const dataKey = z
  .string()
  .regex(/^(?!\.\.|\.$)[-._a-zA-Z0-9]{1,253}$/, { error: 'not a key of a Secret or ConfigMap' })

/** A key of labels, annotations and taints, with or without a prefix. */
export const qualifiedName = z
  .string()
  .regex(
    /^(?=[^/]{1,253}\/|[^/]+$)([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?$/,
    { error: 'not a name of a label' },
  )

/** The value of a label or a taint. */
export const labelValue = z
  .string()
  .regex(/^([A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?)?$/, { error: 'not a value of a label' })

/** A host name, as in certificates. */
export const hostName = z
  .string()
  .regex(/^(?=.{1,253}$)[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$/, {
    error: 'not the name of a host in small letters',
  })

/** The domain below which each app has a host. The longest id and a dot fit before it. */
export const appDomain = hostName.max(200).optional()

/** An absolute path without `.` and `..`. */
export const absolutePath = z
  .string()
  .regex(/^\/(?!.*\/\/)(?!.*\/\.{1,2}(\/|$))[^\p{Cc}:]*$/u, { error: 'not an absolute path without . and ..' })

/** A path within a volume. */
export const relativePath = z
  .string()
  .regex(/^(?!\/)(?!.*\/\/)(?!(.*\/)?\.{1,2}(\/|$))[^\p{Cc}]+$/u, { error: 'not a relative path without . and ..' })

/** Addresses that bearer tokens and keys are sent to: without TLS only within this machine. */
export const address = z.string().check(context => {
  const problem = addressProblem(context.value)
  if (problem) context.issues.push({ code: 'custom', input: context.value, message: problem })
})

function addressProblem(value: string): string | undefined {
  const url = URL.parse(value)
  if (url === null || !/^https?:$/.test(url.protocol)) return 'not an https:// address'
  if (url.protocol === 'http:' && !isLoopback(url.host)) return 'must be https:// unless it is this machine'
  if (url.username || url.password || url.search || url.hash) return 'must have no user, query or fragment'
  return undefined
}
