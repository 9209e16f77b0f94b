/** The files of `skylab render`: identity and request, checked as the service checks them. */
import { checkCreate } from '../api/bounds/create.ts'
import { checkedJson } from '../api/bounds/json.ts'
import { createBody } from '../api/labs/schemas.ts'
import type { CreateRequest, Identity } from '../base/domain.ts'
import { ApiError } from '../base/errors.ts'
import { ConfigError, schemaProblems } from '../config/problems.ts'
import type { Config } from '../config/schema.ts'
import { identityOf, personForm } from '../identity/tokens.ts'
import { readYaml } from '../settings/config-file.ts'
import { readSource } from '../settings/source.ts'

/** Placeholder for the token of a user whose file has none. */
export const noToken = '<the token of the user>'

/**
 * The identity in a file of JSON or YAML, as an entry of `identity.static.file`, with or without a token.
 * @throws {ConfigError} that names the file and its problems
 */
export async function readUser(file: string): Promise<Identity> {
  const parsed = personForm.safeParse(await readYaml(file))
  if (!parsed.success) throw new ConfigError(file, schemaProblems(parsed.error))
  const { token = noToken, scopes = [], ...person } = parsed.data
  return identityOf({ ...person, token, scopes })
}

/**
 * The body of a create in a file of JSON.
 * @throws {ConfigError} that names the file and its problems
 */
export async function readLab(file: string, { api, lab }: Pick<Config, 'api' | 'lab'>): Promise<CreateRequest> {
  const { limits } = api
  const body = createBody({ sizes: Object.keys(lab.sizes), limits })
  const bytes = await readSource(file)
  try {
    const parsed = body.safeParse(JSON.parse(checkedJson(bytes, limits)))
    if (!parsed.success) throw new ConfigError(file, schemaProblems(parsed.error))
    checkCreate(limits, parsed.data)
    return parsed.data
  } catch (error) {
    if (error instanceof ApiError) throw new ConfigError(file, problemsOf(error))
    throw error
  }
}

/** One line per problem: place and reason. */
export function problemsOf({ detail }: ApiError): string[] {
  return detail.map(({ msg, loc = [] }) => {
    const place = loc.filter((part, i) => i > 0 || part !== 'body').join('.')
    return place ? `${place}: ${msg}` : msg
  })
}
