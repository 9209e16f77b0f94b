/** Schemas of requests and answers about tenants. */
import { z } from '@hono/zod-openapi'
import { longestReason } from '../../tenants/grants.ts'
import { longestSudoSeconds } from '../../tenants/rules.ts'
import { component } from '../document/components.ts'
import { named } from '../document/schemas.ts'

export const tenantPath = z.object({
  name: z
    .string()
    .regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, { error: 'is not the name of a namespace' })
    .openapi({ description: 'the LNamespace', example: 'blue' }),
})

/** Control characters, line separators, and those that change the direction of text or cannot be seen. */
const unseen = /[\p{Cc}\p{Cf}\u2028\u2029]/u

const reason = z
  .string()
  .min(1)
  .max(longestReason)
  .refine(text => text.isWellFormed() && !unseen.test(text), { error: 'contains a control character' })
  .meta({ pattern: '^[^\\x00-\\x1f\\x7f-\\x9f]*$' })
  .describe('why, in words; whoever has a role in the tenant reads it, and the audit log has it')

export const sudoBody = named(
  'Sudo',
  z.strictObject({
    ttlSeconds: z
      .number()
      .int()
      .min(1)
      .max(longestSudoSeconds)
      .describe('how long; at most `spec.sudo.maxSeconds` of the LNamespace'),
    reason,
  }),
  'input',
)

const roles = z
  .array(z.enum(['user', 'manager', 'sudoer', 'eligible']))
  .describe('what the caller is there; `eligible`: may ask for sudo with an end')
const name = z.string().describe('the name of the LNamespace, and of its namespace')
const ready = z.boolean().describe('whether all is as declared')
const word = z.string().describe('a word for programs: the reason of the condition `Ready`')

const summary = component(
  'TenantSummary',
  z.object({ name, ready, reason: word, roles }),
  'an LNamespace, and what the caller is there',
)

export const tenantList = named('Tenants', z.array(summary))

const grant = {
  id: z.string().describe('the name of the grant'),
  user: z.string().describe('the user of the cluster who has it'),
  until: z
    .string()
    .regex(/^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$/)
    .describe('when it ends, at the latest a second later'),
  reason: z.string().describe('what the person gave as the reason'),
  effective: z.boolean().describe('whether the API server lets the person use it yet'),
}

export const sudoGrant = named('SudoGrant', z.object(grant))

const grantOfTenant = component('Grant', z.object(grant), 'sudo with an end')

const subject = component(
  'Subject',
  z.object({
    kind: z.enum(['User', 'Group', 'ServiceAccount']),
    name: z.string(),
    namespace: z.string().exactOptional().describe('of a ServiceAccount'),
  }),
  'somebody as the cluster knows them',
)

const condition = component(
  'Condition',
  z.object({
    type: z.string().describe('`Accepted`, `NamespaceReady`, `AccessReady` or `Ready`'),
    status: z.string().describe('`True` or `False`'),
    reason: z.string().describe('a word for programs'),
    message: z.string().describe('a text for people, which can be empty'),
  }),
  'a condition of the status',
)

export const tenantDetail = named(
  'Tenant',
  z.object({
    ...{ name, ready, reason: word, roles },
    generation: z.number().int().describe('rises with each edit; ids of events begin with it'),
    sudoGroup: z.string().describe('the group that has all rights in the namespace, for whoever may impersonate it'),
    maxSeconds: z.number().int().describe('the longest sudo with an end; 0 while it is not accepted'),
    conditions: z.array(condition),
    grants: z
      .array(grantOfTenant)
      .describe('sudo with an end that runs: the caller’s own; all of it for callers with a role here'),
    people: component(
      'People',
      z.object({
        users: z.array(subject),
        managers: z.array(subject),
        sudoers: z.array(subject),
        eligible: z.array(subject).describe('who may ask for sudo with an end'),
      }),
      'whom the LNamespace names',
    )
      .exactOptional()
      .describe('only for callers with a role here, and if it is accepted'),
  }),
)
