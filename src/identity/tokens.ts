/** The file of the `static` identity provider: tokens and the users that they identify. For demos and tests. */
import { stringify } from 'yaml'
import { z } from 'zod'
import type { Identity } from '../base/domain.ts'
import { parseQuantity } from '../base/quantity.ts'
import { checkUsername } from '../base/usernames.ts'
import { schemaProblems } from '../config/problems.ts'
import { parseYaml } from '../config/yaml.ts'

const gibibyte = 2 ** 30
const posixId = z.number().int().min(0).max(4_294_967_294)

/** SQR-066 takes quotas from Gafaelfawr, whose memory is in GiB; a Kubernetes quantity contains its unit. */
const quotaMemory = z
  .union([z.number().positive(), z.string()], { error: 'neither a number of GiB nor a Kubernetes quantity' })
  .transform((value, context) => {
    try {
      return Math.round(typeof value === 'number' ? value * gibibyte : parseQuantity(value))
    } catch {
      context.addIssue('not a Kubernetes quantity')
      return z.NEVER
    }
  })

const quota = z.strictObject({
  cpu: z.number().positive().exactOptional(),
  memory: quotaMemory.exactOptional(),
  spawn: z.boolean().default(true),
})

const username = z.string().check(context => {
  try {
    checkUsername(context.value)
  } catch (error) {
    context.issues.push({ code: 'custom', input: context.value, message: (error as Error).message })
  }
})

const tokenRecord = z.strictObject({
  token: z.string().regex(/^[\x21-\x7e]+$/, { error: 'must be printable, without spaces' }),
  username,
  scopes: z.array(z.string()),
  uid: posixId.exactOptional(),
  gid: posixId.exactOptional(),
  groups: z.array(z.strictObject({ name: z.string().min(1), id: posixId.exactOptional() })).default([]),
  quota: quota.exactOptional(),
})

/** A user without the need for a token and its scopes. */
export const personForm = tokenRecord.partial({ token: true, scopes: true })

const tokensSchema = z.strictObject({ tokens: z.array(tokenRecord) })

/** The contents of the file. `quota.memory` is a number of GiB or a Kubernetes quantity. */
export type StaticTokens = z.input<typeof tokensSchema>

/** One token of the file, checked. `quota.memory` is in bytes. */
export type TokenRecord = z.output<typeof tokenRecord>

/** The identity in the form of all providers. */
export function identityOf({ quota, ...record }: TokenRecord): Identity {
  if (quota === undefined) return record
  const { memory, ...rest } = quota
  return { ...record, quota: { ...rest, ...(memory !== undefined && { memoryBytes: memory }) } }
}

/** @returns the tokens, or the problems; a problem names a token by its index in the file, never by its value */
export function parseTokens(text: string): { tokens: readonly TokenRecord[] } | { problems: string[] } {
  const yaml = parseYaml(text)
  if ('problems' in yaml) return yaml
  const parsed = tokensSchema.safeParse(yaml.value)
  if (!parsed.success) return { problems: schemaProblems(parsed.error) }
  const problems = repeatProblems(parsed.data.tokens)
  return problems.length > 0 ? { problems } : { tokens: parsed.data.tokens }
}

/** The text of a file that `parseTokens` reads. */
export function formatTokens(tokens: StaticTokens): string {
  // Aliases for groups that users share would soon be more than the parser accepts.
  return stringify(tokens, { version: '1.1', aliasDuplicateObjects: false })
}

function repeatProblems(tokens: readonly TokenRecord[]): string[] {
  const places = new Map<string, number>()
  return tokens.flatMap(({ token }, index) => {
    const first = places.get(token)
    if (first !== undefined) return [`tokens.${index}.token: is the same as tokens.${first}`]
    places.set(token, index)
    return []
  })
}
