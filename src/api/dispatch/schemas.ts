/** Schemas of requests and answers about containers. */
import { z } from '@hono/zod-openapi'
import type { Limits } from '../../config/limits.ts'
import type { Config } from '../../config/schema.ts'
import { containerStates } from '../../dispatch/container.ts'
import { component } from '../document/components.ts'
import { named, requestHeaders } from '../document/schemas.ts'

const uuidForm = z.string().regex(/^[a-z0-9]{5}-dz642-[0-9a-z]{15}$/, { error: 'is not the uuid of a container' })
const uuidExample = 'zzzzz-dz642-000000000000a1b'

export const containerPath = z.object({
  uuid: uuidForm.openapi({ description: 'the uuid of the container', example: uuidExample }),
})

export const mostContainers = 100
const usualContainers = 50
const notANumber = `is not a number from 1 to ${mostContainers}`

const listFields = {
  state: z.enum(containerStates).optional().openapi({ description: 'only those in this state', example: 'Running' }),
  after: uuidForm.optional().openapi({
    description: 'only younger ones than this; `next` of the page before',
    example: uuidExample,
  }),
  limit: z
    .string()
    .regex(/^[1-9][0-9]{0,2}$/, { error: notANumber })
    .transform(Number)
    .refine(limit => limit <= mostContainers, { error: notANumber })
    .default(usualContainers)
    .openapi({
      type: 'integer',
      ...{ minimum: 1, maximum: mostContainers, default: usualContainers },
      ...{ description: 'containers of a page, at most', example: usualContainers },
    }),
}

/** Names of users have no control characters. */
const owner = z
  .string()
  .min(1)
  .max(255)
  .refine(text => text.isWellFormed() && !/[\p{Cc}\p{Cf}\u2028\u2029]/u.test(text), {
    error: 'contains a control character',
  })

export const listQueries = {
  user: z.strictObject(listFields),
  admin: z.strictObject({
    ...listFields,
    owner: owner.optional().openapi({ description: 'only those of this user', example: 'ada' }),
  }),
}

export const logQuery = z.strictObject({
  follow: z.enum(['', 'true', 'false']).optional().openapi({
    description: 'whether it goes on until the container has ended; without a value: yes',
    example: 'true',
  }),
})

export function createHeaders({ maxIdempotencyKeyLength }: Limits) {
  return z.object({
    ...requestHeaders,
    'idempotency-key': z.string().min(1).max(maxIdempotencyKeyLength).optional().openapi({
      description: 'a repeat with the same key and body within ten minutes gets the container of the first one',
      example: '6f1c0f0e-1d5d-4a43-8e5f-2b8b8a1f7c11',
    }),
  })
}

/** What a program can be given. */
const argument = z
  .string()
  .regex(/^[^\x00]*$/, { error: 'must not contain NUL' })
  .refine(value => value.isWellFormed(), { error: 'is not well-formed Unicode' })

/** Linux starts no program with longer arguments, all together; each has an end of its own. */
export const longestCommand = 128 * 1024 - 1
const command = z
  .array(argument)
  .min(1)
  .max(1000)
  .refine(([program]) => program !== '', { error: 'names no program', path: [0] })
  .refine(all => all.reduce((sum, each) => sum + Buffer.byteLength(each) + 1, 0) <= longestCommand, {
    error: `is larger than ${longestCommand} bytes`,
  })

/** Nothing of these can be read as an option, or as two, by the programs that get them. */
const image = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._\-/:@]{0,511}$/, { error: 'is not the name of an image' })
/** Readers of patterns other than JavaScript's have no classes of characters: these are in no pattern of the document. */
const unseen = /[\p{Cc}\p{Cf}\u2028\u2029]/u
const path = z
  .string()
  .regex(/^(\/(?!\.{1,2}(\/|$))[^/,:"]{1,255})+$/u, { error: 'is not an absolute path without . , : and "' })
  .refine(value => value.isWellFormed() && !unseen.test(value), { error: 'has characters that nobody sees' })

const amount = (most: number) => z.number().int().min(0).max(most)
/** Of any machine: beyond it no number is exact. */
const mostBytes = Number.MAX_SAFE_INTEGER
const mostMounts = 16
const tenYears = 315_360_000

const mount = component(
  'ContainerMount',
  z.strictObject({
    kind: z.literal('tmp').describe('an empty folder that ends with the container'),
    capacity: amount(2 ** 50).describe('bytes of the disk of its machine; the container fits only where they are'),
  }),
  'a folder of a container',
)

const needs = {
  vcpus: z.number().int().min(1).max(10_000).default(1).describe('virtual processors'),
  ram: amount(mostBytes).describe('bytes of memory'),
  gpus: z.number().int().min(0).max(1000).default(0).describe('GPUs'),
}

const scheduling = {
  preemptible: z.boolean().default(false).describe('whether its machine may be one that the cloud takes back'),
  supervisor: z.boolean().default(false).describe('whether it makes containers itself, and waits for them'),
  max_run_time: amount(tenYears).default(0).describe('seconds after which it is killed; 0: never'),
}

const tenant = z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, { error: 'is not the name of a tenant' })
const priority = z.number().int().min(0).max(1000)
const priorityWords = 'higher ones run earlier; 0: it is not scheduled, and killed if it runs'
const variableName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, { error: 'is not the name of a variable' })

/** Zod drops `__proto__` from records silently; nothing that was sent may be ignored. */
const variables = ({ maxEnvNameLength, maxEnvValueLength }: Limits) =>
  z.preprocess(
    (value, context) => {
      if (typeof value === 'object' && value !== null && Object.hasOwn(value, '__proto__'))
        context.addIssue({ code: 'custom', message: 'is not the name of a variable', path: ['__proto__'] })
      return value
    },
    z.record(variableName.max(maxEnvNameLength), argument.max(maxEnvValueLength)),
  )

interface Variables {
  readonly environment: Readonly<Record<string, string>>
  readonly secret_environment: Readonly<Record<string, string>>
}

/** Both kinds share the bounds. @param refuse gets problems with their keys */
function checkVariables(limits: Limits, body: Variables, refuse: (message: string, ...path: string[]) => void): void {
  const { maxEnvEntries, maxEnvBytes } = limits
  const { environment, secret_environment } = body
  const all = [...Object.entries(environment), ...Object.entries(secret_environment)]
  const bytes = all.reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value), 0)
  if (all.length > maxEnvEntries) refuse(`has more than ${maxEnvEntries} variables`, 'environment')
  if (bytes > maxEnvBytes) refuse(`is larger than ${maxEnvBytes} bytes`, 'environment')
  for (const name of Object.keys(secret_environment)) {
    if (Object.hasOwn(environment, name)) refuse('is in environment too', 'secret_environment', name)
  }
}

type Engine = NonNullable<Config['dispatch']>['Containers']['RuntimeEngine']

export function createBody(limits: Limits, engine: Engine) {
  const words = 'the image; a digest in it makes sure that every run has the same'
  const schema = z.strictObject({
    command: command.describe(`program and arguments, ${longestCommand} bytes together; they are shown, so no secrets`),
    container_image:
      engine === 'process'
        ? image.or(z.literal('')).default('').describe(`${words}; not used here`)
        : image.describe(words),
    environment: variables(limits).default({}).describe('variables; values that look like secrets are shown as `***`'),
    secret_environment: variables(limits).default({}).describe('variables whose values are shown to nobody'),
    cwd: path
      .or(z.enum(['.', '/']))
      .default('.')
      .describe('the folder of the command; `.`: that of the image'),
    mounts: z
      .record(path, mount)
      .refine(all => Object.keys(all).length <= mostMounts, { error: `has more than ${mostMounts} mounts` })
      .default({})
      .describe('folders by path'),
    runtime_constraints: component(
      'NewContainerNeeds',
      z.strictObject(needs),
      'what it may use; a machine has at least that, and a reserve of the site',
    ),
    scheduling_parameters: component(
      'NewContainerScheduling',
      z.strictObject(scheduling),
      'how it is scheduled',
    ).prefault({}),
    tenant: tenant.optional().describe('the tenant that it counts for: needed where you are in more than one'),
    priority: priority.default(500).describe(priorityWords),
    container_count_max: z
      .number()
      .int()
      .min(1)
      .max(100)
      .default(3)
      .describe('how often it may begin, where machines are lost under it'),
  })
  const whole = schema.superRefine((body, context) =>
    checkVariables(limits, body, (message, ...path) => context.addIssue({ code: 'custom', message, path })),
  )
  return named('NewContainer', whole, 'input')
}

export const changeBody = () =>
  named('ContainerChange', z.strictObject({ priority: priority.describe(priorityWords) }), 'input')

const time = (words: string) => z.string().nullable().describe(`${words}; null before`)

const containerFields = {
  uuid: z.string().describe('its name'),
  arvados_uuid: z.string().describe('its uuid in Arvados, if that asked for it').exactOptional(),
  owner: z.string().describe('the user who asked for it; of one that Arvados asked for: `arvados:` and its host'),
  tenant: z.string().describe('the tenant that it counts for, as it was decided when it was accepted'),
  state: z.enum(containerStates).describe('what it does'),
  priority: z.number().int().describe(priorityWords),
  command: z.array(z.string()).describe('program and arguments'),
  container_image: z.string().describe('the image'),
  environment: z.record(z.string(), z.string()).describe('variables; values of secrets are `***`'),
  cwd: z.string().describe('the folder of the command'),
  mounts: z.record(z.string(), z.object({ kind: z.literal('tmp'), capacity: z.number().int() })).describe('folders'),
  runtime_constraints: component(
    'ContainerNeeds',
    z.object({
      vcpus: z.number().int().describe('virtual processors'),
      ram: z.number().int().describe('bytes of memory'),
      gpus: z.number().int().describe('GPUs'),
    }),
    'what it may use',
  ),
  scheduling_parameters: component(
    'ContainerScheduling',
    z.object({
      preemptible: z.boolean().describe('whether the cloud may take its machine back'),
      supervisor: z.boolean().describe('whether it waits for containers that it makes'),
      max_run_time: z.number().int().describe('seconds; 0: for ever'),
    }),
    'how it is scheduled',
  ),
  container_count_max: z.number().int().describe('how often it may begin'),
  attempt: z.number().int().describe('how often it began'),
  instance: z.string().describe('the cloud’s id of its present or last machine; empty before the first'),
  instance_type: z.string().describe('the type of that machine'),
  gateway_address: z.string().describe('where its shell and its ports are, for Skylab alone; empty if nowhere'),
  exit_code: z.number().int().nullable().describe('of its command; null until it is Complete'),
  created_at: z.string().describe('when it was accepted'),
  started_at: time('when its present or last run began'),
  finished_at: time('when it ended'),
  cost: z.number().describe('of its present or last run, by the price of its machine'),
  runtime_status: component(
    'ContainerStatus',
    z.object({
      error: z.string().describe('why it was cancelled').exactOptional(),
      warning: z.string().describe('the last trouble').exactOptional(),
      activity: z.string().describe('what is being done to it').exactOptional(),
    }),
    'what happened to it, in words',
  ),
  scheduling_status: z.string().describe('why it waits, in words; empty if it does not'),
}

export const containerBody = named('Container', z.object(containerFields))

export const containerList = named(
  'Containers',
  z.object({
    containers: z
      .array(component('ContainerInList', z.object(containerFields), 'a container'))
      .describe('by age; may be fewer than `limit` though there are more'),
    next: z.string().describe('for `after`; absent: there are no more').exactOptional(),
  }),
)
