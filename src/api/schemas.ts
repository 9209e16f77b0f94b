/** What goes in and out, as schemas: they validate requests, and an OpenAPI document can be made of them. */
import { z } from '@hono/zod-openapi'

/** One word for all wrong types of an option: which union member failed tells a client nothing. */
const text = singleOrPlain(z.string(), 'must be a string, or a list of one string')

const flagText = z.string().regex(/^(true|false)$/i)
const flag = singleOrPlain(
  z.union([z.boolean(), flagText]),
  'must be true or false, or a list of one of them',
).transform(value => (typeof value === 'string' ? value.toLowerCase() === 'true' : value))

/** JupyterHub's form gives every value as a list of one; both forms are taken (SQR-066, "POST …/create"). */
function singleOrPlain<T extends z.ZodType<string | boolean>>(plain: T, error: string) {
  return z.union([plain, z.tuple([plain])], { error }).transform(value => (Array.isArray(value) ? value[0] : value))
}

const options = z
  .strictObject({
    enable_debug: flag.exactOptional(),
    image_list: text.exactOptional(),
    image_dropdown: text.exactOptional(),
    image_tag: text.exactOptional(),
    image_type: text.exactOptional(),
    reset_user_env: flag.exactOptional(),
    size: text.exactOptional(),
    _xsrf: z.unknown().describe('part of JupyterHub’s form; dropped').optional(),
  })
  .transform(({ _xsrf, ...rest }) => rest)

const envName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/)
const envValue = z.string().refine(value => !value.includes('\0'), { error: 'must not contain NUL' })

/** Zod leaves `__proto__` out of records without a word; nothing that was sent is dropped in silence. */
const env = z.preprocess(
  (value, context) => {
    if (typeof value === 'object' && value !== null && Object.hasOwn(value, '__proto__')) {
      context.addIssue({ code: 'custom', message: 'not the name of a variable', path: ['__proto__'] })
    }
    return value
  },
  z.record(envName, envValue),
)

/** The body of a create; parsed, it is a `CreateRequest`. */
export const createBody = z.strictObject({ options, env: env.default({}) }).openapi('CreateLab')

export const createHeaders = z.object({
  'idempotency-key': z
    .string()
    .min(1)
    .max(255)
    .exactOptional()
    .describe('a repeat within ten minutes gets the first answer again'),
})

export const eventsHeaders = z.object({
  'last-event-id': z
    .string()
    .exactOptional()
    .describe('the id of the last event received; the stream goes on after it'),
})

export const userPath = z.object({ username: z.string().describe('the user whose lab it is') })

export const userList = z.array(z.string()).openapi('Users', { example: ['ada', 'grace'] })

const resources = z.object({ cpu: z.number(), memory: z.number().int().describe('bytes') })

export const labStatus = z
  .object({
    username: z.string(),
    status: z.enum(['pending', 'running', 'terminating', 'failed']),
    pod: z.enum(['present', 'missing']),
    internal_url: z.string().exactOptional().describe('only while the lab is running and its pod is there'),
    options: z.object({
      enable_debug: z.boolean().exactOptional(),
      image_list: z.string().exactOptional(),
      image_dropdown: z.string().exactOptional(),
      image_tag: z.string().exactOptional(),
      image_type: z.string().exactOptional(),
      reset_user_env: z.boolean().exactOptional(),
      size: z.string().exactOptional(),
    }),
    env: z.record(z.string(), z.string()).describe('as sent, secret values masked'),
    uid: z.number().int(),
    gid: z.number().int(),
    groups: z.array(z.object({ name: z.string(), id: z.number().int() })),
    quotas: z.object({ limits: resources, requests: resources }),
    events: z.array(
      z.object({
        event: z.enum(['complete', 'error', 'failed', 'info', 'progress']),
        data: z.string(),
        id: z.string().exactOptional(),
      }),
    ),
  })
  .openapi('Lab')

export const errorBody = z
  .object({
    detail: z.array(
      z.object({
        msg: z.string(),
        type: z.string(),
        loc: z.array(z.union([z.string(), z.number()])).exactOptional(),
      }),
    ),
  })
  .openapi('Error')
