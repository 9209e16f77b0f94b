/** An app made of a template and of what somebody filled in (seed 001, "Create"). Pure. */
import { type AppTemplate, copiedSpec, type DefaultEnv, envOfSpec, templateText, withEnv } from '../apps/template.ts'
import { appAnnotations } from '../apps/words.ts'
import type { AppScope } from '../base/app-route.ts'
import { ApiError, type ErrorDetail } from '../base/errors.ts'
import { asText, type JsonObject } from '../base/json.ts'
import { mask, secretTest } from '../base/secret-env.ts'
import { type EnvTerms, type EnvWish, newEnv, secretNameOf, shownEnv } from './env.ts'
import { maskedTemplate } from './template-masks.ts'

/** A filled-in form of a new app. */
export interface AppWish {
  readonly id: string
  readonly templateId: string
  readonly displayName?: string | undefined
  readonly groupName: string
  readonly instanceType?: string | undefined
  readonly scope?: AppScope | undefined
  /** Absent: the variables of the template with their defaults. */
  readonly env?: readonly EnvWish[] | undefined
}

export interface NewApp {
  readonly spec: JsonObject
  readonly annotations: Readonly<Record<string, string>>
  /** Values for its Secret, by their keys. */
  readonly secrets: Readonly<Record<string, string>>
}

/**
 * The PhApplication of a wish. Its variables are those of the template, then those that were filled in.
 * @throws {ApiError} 422 with an entry for each variable that cannot be
 */
export function newApp(wish: AppWish, template: AppTemplate, terms: EnvTerms): NewApp {
  const copy = withoutSecrets(template, terms)
  const { template: kept } = copy
  const env = newEnv(filledIn(wish.env, template, terms.patterns), { template: envOfSpec(kept.spec), own: [] }, terms)
  const { displayName, groupName, instanceType = '', scope = 'group' } = wish
  const chosen = { ...(displayName !== undefined && { displayName }), groupName, instanceType, scope }
  const data = {
    ...{ id: wish.id, templateId: wish.templateId, ...chosen },
    env: shownEnv(env.own, terms.patterns),
  }
  return {
    spec: { stop: false, ...chosen, ...withEnv(copiedSpec(kept), env.entries) },
    annotations: {
      [appAnnotations.template]: templateText(kept),
      [appAnnotations.templateData]: JSON.stringify(data),
    },
    secrets: { ...copy.secrets, ...env.secrets },
  }
}

/** The variables that people sent, with the template's defaults for those that they left as shown. */
function filledIn(
  wishes: readonly EnvWish[] | undefined,
  { defaultEnvs }: AppTemplate,
  patterns: readonly string[],
): readonly EnvWish[] {
  const isSecret = secretTest(patterns)
  const given =
    wishes ?? defaultEnvs.flatMap(({ name, defaultValue: value }) => (value === '' ? [] : [{ name, value }]))
  const env = given.map(({ name, value }): EnvWish => {
    const standard = defaultEnvs.find(each => each.name === name)
    const isKept = standard && (value === undefined || (value === mask && isSecret(name, standard.defaultValue)))
    return { name, value: isKept ? standard.defaultValue : value }
  })
  requireFilled(env, defaultEnvs)
  return env
}

/** @throws {ApiError} 422 with an entry for each variable of a template that must have a value, and has none */
export function requireFilled(env: readonly EnvWish[], defaultEnvs: readonly DefaultEnv[]): void {
  const detail = defaultEnvs.flatMap(({ name, optional }): ErrorDetail[] => {
    const at = env.findLastIndex(each => each.name === name)
    if (optional || (at >= 0 && env[at]!.value !== '')) return []
    if (at < 0) return [{ msg: `the template requires the variable ${name}`, type: 'missing', loc: ['body', 'env'] }]
    return [{ msg: `the template requires a value of ${name}`, type: 'invalid', loc: ['body', 'env', at, 'value'] }]
  })
  if (detail.length > 0) throw new ApiError(422, detail)
}

/** The template as its apps have it: secret values are in the Secret of the app. */
function withoutSecrets(template: AppTemplate, { id, patterns, suffix }: EnvTerms) {
  const isSecret = secretTest(patterns)
  const secrets: Record<string, string> = {}
  const env = envOfSpec(template.spec).map((entry, index): JsonObject => {
    const [name, value] = [asText(entry.name), asText(entry.value)]
    if (value === '' || !isSecret(name, value)) return entry
    // Names of variables that a template has may be no keys of a Secret.
    const key = `template.${index}`
    secrets[key] = value
    return { name: entry.name, valueFrom: { secretKeyRef: { name: secretNameOf(id, suffix), key } } }
  })
  return { template: { ...maskedTemplate(template, patterns), spec: withEnv(template.spec, env) }, secrets }
}
