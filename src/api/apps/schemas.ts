/** Schemas of requests and answers about apps. */
import { z } from '@hono/zod-openapi'
import { appPhases, appScopes } from '../../base/app-route.ts'
import type { Limits } from '../../config/limits.ts'
import { component } from '../document/components.ts'
import { named, requestHeaders } from '../document/schemas.ts'
import { ofTemplate } from './template-schemas.ts'

const idForm = z.string().regex(/^[a-z]([-a-z0-9]{0,48}[a-z0-9])?$/, { error: 'is not the id of an app' })

const templateId = z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, { error: 'is not the id of a template' })

export const templatePath = z.object({
  id: templateId.openapi({ description: 'the id of the template', example: 'mlflow' }),
})

export const appPath = z.object({ id: idForm.openapi({ description: 'the id of the app', example: 'mlflow' }) })

export const changeHeaders = z.object({
  ...requestHeaders,
  'if-match': z.string().optional().openapi({
    description: 'the change is made only if the app has one of these versions, as `ETag` names them',
    minLength: 1,
    maxLength: 1024,
    example: '"0b0f6f0e-3a52-4f0c-8f2b-8f7d1b8f6f55.3"',
  }),
})

export const mostApps = 200
const usualApps = 100
const notANumber = `is not a number from 1 to ${mostApps}`

/** Control characters, line separators, and those that change the direction of text or cannot be seen. */
const unseen = /[\p{Cc}\p{Cf}\u2028\u2029]/u
const isShowable = (text: string) => text.isWellFormed() && !unseen.test(text)
const showable = { error: 'contains a control character' }

const groupName = z.string().min(1).max(253)

const pageQuery = {
  limit: z
    .string()
    .regex(/^[1-9][0-9]{0,2}$/, { error: notANumber })
    .transform(Number)
    .refine(limit => limit <= mostApps, { error: notANumber })
    .default(usualApps)
    .openapi({
      type: 'integer',
      ...{ minimum: 1, maximum: mostApps, default: usualApps },
      ...{ description: 'entries of a page, at most', example: usualApps },
    }),
}

export const listQuery = z.strictObject({
  group: groupName.optional().openapi({ description: 'only apps of this group', example: 'physics' }),
  phase: z.enum(appPhases).optional().openapi({ description: 'only apps in this phase', example: 'Ready' }),
  ...pageQuery,
  cursor: idForm.optional().openapi({ description: '`cursor` of the page before', example: 'mlflow' }),
})

export const sessionsQuery = z.strictObject({
  user: z.string().min(1).max(255).refine(isShowable, showable).optional().openapi({
    description: 'the user whose sessions end',
    example: 'ada',
  }),
  app: idForm.optional().openapi({ description: 'the app whose sessions end', example: 'mlflow' }),
})

export const templatesQuery = z.strictObject({
  ...pageQuery,
  cursor: templateId.optional().openapi({ description: '`cursor` of the page before', example: 'mlflow' }),
})

const text = (most: number) =>
  z.string().max(most).refine(isShowable, showable).meta({ pattern: '^[^\\x00-\\x1f\\x7f-\\x9f]*$' })

/** A value of Kubernetes is any text. */
const envValue = (most: number) =>
  z
    .string()
    .max(most)
    .regex(/^[^\x00]*$/, { error: 'must not contain NUL' })
    .refine(value => value.isWellFormed(), { error: 'is not well-formed Unicode' })

const platformPrefix = 'PRIMEHUB_'
type EnvEntry = { readonly name: string; readonly value?: string | undefined }

function envList({ maxEnvEntries, maxEnvNameLength, maxEnvValueLength, maxEnvBytes }: Limits) {
  const variable = component(
    'AppVariable',
    z.strictObject({
      name: z
        .string()
        .max(maxEnvNameLength)
        .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, { error: 'is not the name of a variable' })
        .describe('its name'),
      value: envValue(maxEnvValueLength)
        .describe('its value; absent, or `***` for a secret one: as it stands')
        .exactOptional(),
    }),
    'a variable of an app',
  )
  return z
    .array(variable)
    .max(maxEnvEntries)
    .superRefine((entries: readonly EnvEntry[], context) => {
      const refuse = (message: string, ...path: (string | number)[]) =>
        context.addIssue({ code: 'custom', message, path })
      const names = new Set<string>()
      for (const [index, { name }] of entries.entries()) {
        if (names.has(name)) refuse('the name is repeated', index, 'name')
        names.add(name)
        if (name.startsWith(platformPrefix))
          refuse(`names that begin with ${platformPrefix} are the platform’s`, index, 'name')
      }
      const bytes = entries.reduce(
        (sum, { name, value = '' }) => sum + Buffer.byteLength(name) + Buffer.byteLength(value),
        0,
      )
      if (bytes > maxEnvBytes) refuse(`is larger than ${maxEnvBytes} bytes`)
    })
}

const chosen = {
  displayName: text(253).describe('its name for people').exactOptional(),
  scope: z
    .enum(appScopes)
    .describe('who reaches its web interface: its group, everybody who is logged in, everybody')
    .exactOptional(),
  instanceType: text(63).describe('what it may use; empty: the default of the site').exactOptional(),
}

export const createBody = (limits: Limits) =>
  named(
    'NewApp',
    z.strictObject({
      id: idForm.describe('its id, which stands in its address; the cluster has it once'),
      templateId: templateId.describe('the id of its template'),
      groupName: text(253).min(1).describe('the group whose app it is; it can never be changed'),
      ...chosen,
      env: envList(limits)
        .describe('its variables, after those of the template; absent: those of the template with their defaults')
        .exactOptional(),
    }),
    'input',
  )

export const changeBody = (limits: Limits) =>
  named(
    'AppChange',
    z.strictObject({
      ...chosen,
      env: envList(limits)
        .describe('its variables: they replace those that people gave it; those of its template stay before them')
        .exactOptional(),
    }),
    'input',
  )

const summary = {
  id: z.string().describe('its id, which the cluster has once'),
  displayName: z.string().describe('its name for people'),
  group: z.string().describe('the group whose app it is'),
  scope: z.enum(appScopes).describe('who reaches its web interface'),
  stop: z.boolean().describe('whether it is to be stopped'),
  phase: z.enum(appPhases).describe('what it does'),
  message: z.string().describe('why, in words; can be empty'),
  url: z.string().describe('the address of its web interface; absent: it has none').exactOptional(),
}

const appSummary = component('AppSummary', z.object(summary), 'an app')

export const appList = named(
  'Apps',
  z.object({
    apps: z.array(appSummary).describe('by id'),
    cursor: z.string().describe('for the next page; absent: this is the last one').exactOptional(),
  }),
)

const shownVariable = component(
  'ShownVariable',
  z.object({
    name: z.string().describe('its name'),
    value: z.string().describe('its value, `***` if that is secret; absent: it comes from elsewhere').exactOptional(),
  }),
  'a variable, as it is shown',
)

const appCondition = component(
  'AppCondition',
  z.object({
    type: z.string().describe('such as `Reconciled` or `Available`'),
    status: z.string().describe('`True` or `False`'),
    reason: z.string().describe('a word for programs'),
    message: z.string().describe('a text for people, which can be empty'),
  }),
  'a condition of the status',
)

export const appDetail = named(
  'App',
  z.object({
    ...summary,
    uid: z.string().describe('of its PhApplication; another app with its id has another one'),
    namespace: z.string().describe('the namespace of its objects'),
    instanceType: z.string().describe('what it may use; empty: the default of the site'),
    image: z.string().describe('the image of its container'),
    env: z.array(shownVariable).describe('the variables that people gave it'),
    templateEnv: z.array(shownVariable).describe('those of its template, which come first'),
    template: ofTemplate.describe('the template that it was made of, as it was then; absent: none').exactOptional(),
    httpPort: z.number().int().describe('the port of its Service that has the web interface').exactOptional(),
    rewrite: z.boolean().describe('whether it sees paths without the prefix of its address'),
    serviceName: z.string().describe('its Service').exactOptional(),
    endpoints: z.array(z.string()).describe('name and port of the Service, for programs in the cluster'),
    createdAt: z.string().describe('when it was made'),
    generation: z.number().int().describe('rises with each change of what is wished'),
    observedGeneration: z.number().int().describe('the generation that phase and conditions are about'),
    conditions: z.array(appCondition),
  }),
)

export const podList = named(
  'AppPods',
  z.object({
    pods: z.array(
      component(
        'AppPod',
        z.object({
          name: z.string().describe('its name'),
          phase: z.enum(['Pending', 'Running', 'Succeeded', 'Failed', 'Unknown']).describe('as Kubernetes calls it'),
          ready: z.boolean().describe('whether all of its containers are ready'),
          restarts: z.number().int().describe('of all containers together'),
          deleting: z.boolean().describe('whether it is on its way out'),
          node: z.string().describe('the node it runs on').exactOptional(),
          message: z.string().describe('why it does not run, in the cluster’s words; can be empty'),
        }),
        'a pod of an app',
      ),
    ),
  }),
)
