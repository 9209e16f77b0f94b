/** Schemas of requests and answers about labs: they validate requests, and generate the OpenAPI document. */
import { z } from '@hono/zod-openapi'
import { imageTypes } from '../../images/catalogue/types.ts'
import { component } from '../document/components.ts'
import { type Bounds, named, requestHeaders } from '../document/schemas.ts'

/** JupyterHub's form sends every value as a list of one; both forms are accepted (SQR-066, "POST …/create"). */
function singleOrPlain<T extends z.ZodType<string | boolean>>(plain: T, error: string) {
  return z
    .union([plain, z.array(plain).length(1)], { error })
    .transform(value => (Array.isArray(value) ? value[0]! : value) as z.output<T>)
}

/**
 * A text for which the document states more than is checked here: `bounds.ts` and the renderer check its value.
 * @param name of a list of values, which would otherwise be in the document twice
 */
function text(
  said: Readonly<{ maxLength: number; enum?: readonly string[]; pattern?: string }>,
  description: string,
  name?: string,
) {
  const plain = z.string().meta({ ...said })
  const value = name === undefined ? plain : component(name, plain, description)
  // One message for all wrong types of an option: the union's failed member does not help a client.
  return singleOrPlain(value, 'must be a string, or a list of one string').describe(description)
}

function flag(description: string) {
  // Without a flag: a pattern in the document has none.
  const word = z.string().regex(/^([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])$/)
  return singleOrPlain(z.union([z.boolean(), word]), 'must be true or false, or a list of one of them')
    .transform(value => (typeof value === 'string' ? value.toLowerCase() === 'true' : value))
    .describe(description)
}

const imageOptions = ['image_tag', 'image_type', 'image_list', 'image_dropdown'] as const

function createOptions({ sizes, limits: { maxOptionLength: maxLength } }: Bounds) {
  const tag = '^[A-Za-z0-9_][A-Za-z0-9_.\\-]{0,127}$'
  const options = z
    .strictObject({
      enable_debug: flag('sets DEBUG=TRUE in the lab').exactOptional(),
      image_list: text({ maxLength }, 'an image of the configured repository, as a form gives it').exactOptional(),
      image_dropdown: text({ maxLength }, 'the same, where `image_list` says to look here').exactOptional(),
      image_tag: text({ maxLength, pattern: tag }, 'tag of an image; goes before image_type').exactOptional(),
      image_type: text(
        { maxLength, enum: imageTypes },
        'which image, by the names that `GET …/images` lists',
        'ImageType',
      ).exactOptional(),
      reset_user_env: flag('sets RESET_USER_ENV=TRUE in the lab').exactOptional(),
      size: text(
        { maxLength, enum: sizes },
        'how large the lab is; default: the configured size',
        'Size',
      ).exactOptional(),
      _xsrf: z.unknown().describe('part of JupyterHub’s form; ignored, whatever it is').optional(),
    })
    .transform(({ _xsrf, ...rest }) => rest)
    // Within `allOf`: generators of clients that see `anyOf` beside `properties` drop the properties.
    .meta({ allOf: [{ anyOf: imageOptions.map(option => ({ required: [option] })) }] })
  const words =
    'each value is plain, or a list of one, as JupyterHub’s form gives it; one of the image options is required'
  return component('CreateLabOptions', options, words)
}

/** Patterns of the document have no look-around, which engines of many languages lack. */
const envName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/)
  .meta({ not: { const: '__proto__' } })
const envValue = z.string().regex(/^[^\x00]*$/, { error: 'must not contain NUL' })

/** Zod drops `__proto__` from records silently; nothing that was sent may be ignored. */
function env({ limits }: Bounds) {
  return z.preprocess(
    (value, context) => {
      if (typeof value === 'object' && value !== null && Object.hasOwn(value, '__proto__')) {
        context.addIssue({ code: 'custom', message: 'not the name of a variable', path: ['__proto__'] })
      }
      return value
    },
    z
      .record(
        envName.meta({ maxLength: limits.maxEnvNameLength }),
        envValue.meta({ maxLength: limits.maxEnvValueLength }),
      )
      .meta({ maxProperties: limits.maxEnvEntries })
      .describe(`variables of the lab’s environment; names and values have ${limits.maxEnvBytes} bytes at most`),
  )
}

/** The body of a create; parsed, it is a `CreateRequest`. */
export function createBody(bounds: Bounds) {
  const body = z.strictObject({ options: createOptions(bounds), env: env(bounds).default({}) })
  return named('CreateLab', body, 'input')
}

export function createHeaders({ limits }: Bounds) {
  return z.object({
    ...requestHeaders,
    'idempotency-key': z.string().min(1).max(limits.maxIdempotencyKeyLength).optional().openapi({
      description:
        'a repeat with the same key within ten minutes is accepted like the first request, and creates nothing more',
      example: '2f1d9c1e-6a0b-4d0e-9f0f-0a7d6c1f5b7e',
    }),
    prefer: z.string().optional().openapi({
      description:
        '`return=minimal` (RFC 7240) asks for 201 in place of 303; any other preference, and a value that is not well-formed, is ignored',
      example: 'return=minimal',
    }),
  })
}

export const eventsHeaders = z.object({
  ...requestHeaders,
  'last-event-id': z.string().optional().openapi({
    description: 'id of the last event received: the stream of that operation goes on after it',
    minLength: 3,
    maxLength: 26,
    pattern: '^[0-9]{1,16}-[0-9]{1,9}$',
    example: '1767225600000000-2',
  }),
})

export const userList = named('Users', z.array(z.string().describe('a user name')))

const username = z.string().describe('the user name')
const posixId = z.number().int().min(0)
const resources = component(
  'Resources',
  z.object({
    cpu: z.number().positive().describe('CPUs'),
    memory: z.number().int().positive().describe('bytes'),
  }),
  'CPUs and memory',
)

/** One event, as in a status, and as the fields of one in a stream. */
export const labEvent = component(
  'Event',
  z.object({
    event: z
      .enum(['complete', 'error', 'failed', 'info', 'progress'])
      .describe('`complete` and `failed` end an operation; an `error` is reported and does not end it'),
    data: z.string().min(1).describe('a text for people; for `progress` a whole percentage, which never falls'),
    id: z
      .string()
      .regex(/^[0-9]+-[0-9]+$/)
      .exactOptional()
      .describe('number of the operation and of the event in it, without gaps; absent when its stream was lost'),
  }),
  'one event of an operation',
)

const labOptions = component(
  'LabOptions',
  z.object({
    enable_debug: z.boolean().exactOptional().describe('whether DEBUG=TRUE is set in the lab'),
    image_list: z.string().exactOptional().describe('the image, as a form gave it'),
    image_dropdown: z.string().exactOptional().describe('the image, where `image_list` says to look here'),
    image_tag: z.string().exactOptional().describe('the tag of the image'),
    image_type: z.string().exactOptional().describe('which image, by the names that `GET …/images` lists'),
    reset_user_env: z.boolean().exactOptional().describe('whether RESET_USER_ENV=TRUE is set in the lab'),
    size: z.string().exactOptional().describe('the size that was asked for'),
  }),
  'the options as sent, converted to plain values',
)

const group = component(
  'Group',
  z.object({ name: z.string().describe('the group name'), id: posixId.describe('its GID') }),
  'a group of the user',
)

export const labStatus = named(
  'Lab',
  z.object({
    username,
    status: z
      .enum(['pending', 'running', 'terminating', 'failed'])
      .describe('`pending`: being created; `terminating`: being deleted; `failed`: the last `error` event says why'),
    pod: z
      .enum(['present', 'missing'])
      .describe('whether the lab has a pod: `missing` before it is created, and after it is gone'),
    internal_url: z
      .string()
      .exactOptional()
      .describe('where the lab answers inside the cluster; only while it is running and its pod is there'),
    options: labOptions,
    env: z.record(z.string(), z.string()).describe('the variables as sent, secret values as ***'),
    uid: posixId.describe('the UID of the lab’s processes'),
    gid: posixId.describe('the primary GID of the lab’s processes'),
    groups: z.array(group).describe('the groups of the user that have a GID'),
    quotas: component(
      'Quotas',
      z.object({
        limits: resources.describe('what the lab can use at most'),
        requests: resources.describe('what the cluster reserves for the lab'),
      }),
      'what the size of the lab means',
    ),
    events: z.array(labEvent).describe('the events of the current operation'),
  }),
)
