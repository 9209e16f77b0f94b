/** Secret values of templates: nobody is shown them, and what is sent back as it was shown leaves them as they are. Pure. */
import { type AppTemplate, type DefaultEnv, envOfSpec, readTemplate, withEnv } from '../apps/template.ts'
import { ApiError, type ErrorDetail } from '../base/errors.ts'
import { asObject, asOptionalText, asText, type JsonObject } from '../base/json.ts'
import { mask, secretTest } from '../base/secret-env.ts'

/** As administrators write it. */
export interface TemplateWish {
  readonly name: string
  readonly description?: string | undefined
  readonly version?: string | undefined
  readonly docLink?: string | undefined
  readonly icon?: string | undefined
  readonly defaultEnvs?: readonly (Pick<DefaultEnv, 'name'> & Partial<DefaultEnv>)[] | undefined
  readonly template: { readonly spec: JsonObject }
}

/** The template with masks in the place of secret values. */
export function maskedTemplate(template: AppTemplate, patterns: readonly string[]): AppTemplate {
  const isSecret = secretTest(patterns)
  const shown = (name: string, value: string) => (value !== '' && isSecret(name, value) ? mask : value)
  const env = envOfSpec(template.spec).map(entry =>
    typeof entry.value === 'string' ? { ...entry, value: shown(asText(entry.name), entry.value) } : entry,
  )
  const defaultEnvs = template.defaultEnvs.map(each => ({ ...each, defaultValue: shown(each.name, each.defaultValue) }))
  return { ...template, defaultEnvs, spec: withEnv(template.spec, env) }
}

/**
 * The `spec` to write to a template's object.
 * @param standing the template that is there
 * @throws {ApiError} 422 for a mask where there is no secret value
 */
export function unmasked(
  wish: TemplateWish,
  standing: AppTemplate | undefined,
  patterns: readonly string[],
): JsonObject {
  const isSecret = secretTest(patterns)
  const detail: ErrorDetail[] = []
  const kept = (of: string | undefined, name: string, ...loc: (string | number)[]): string => {
    if (of !== undefined && isSecret(name, of)) return of
    detail.push({
      msg: 'the template has no such secret value that could stay',
      type: 'invalid',
      loc: ['body', ...loc],
    })
    return ''
  }
  const formerEnv = envOfSpec(standing?.spec ?? {})
  const env = envOfSpec(wish.template.spec).map((entry, index) => {
    if (entry.value !== mask) return entry
    const name = asText(entry.name)
    const of = asOptionalText(formerEnv.findLast(each => each.name === name)?.value)
    const path = ['template', 'spec', 'podTemplate', 'spec', 'containers', 0, 'env', index, 'value']
    return { ...entry, value: kept(of, name, ...path) }
  })
  const defaultEnvs = (wish.defaultEnvs ?? []).map((each, index) => {
    if (each.defaultValue !== mask) return each
    const of = standing?.defaultEnvs.find(({ name }) => name === each.name)?.defaultValue
    return { ...each, defaultValue: kept(of, each.name, 'defaultEnvs', index, 'defaultValue') }
  })
  if (detail.length > 0) throw new ApiError(422, detail)
  const { template, ...shown } = wish
  const { spec: _, id: __, ...whole } = readTemplate('', { ...shown, defaultEnvs })
  return { ...whole, template: { ...template, spec: withEnv(template.spec, env) } }
}

/** The wish with `null` for each present field that it lacks: a patch then replaces the whole. */
export function replacing(wish: JsonObject, standing: JsonObject): JsonObject {
  const entries = Object.entries(wish).map(([name, value]): [string, unknown] => {
    const isInner = isObject(value) && isObject(standing[name])
    return [name, isInner ? replacing(value as JsonObject, asObject(standing[name])) : value]
  })
  const dropped = Object.keys(standing).filter(name => !Object.hasOwn(wish, name))
  return Object.fromEntries([...entries, ...dropped.map((name): [string, null] => [name, null])])
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)
