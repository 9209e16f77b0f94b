/**
 * The environment of an app as people see and change it. Pure.
 *
 * A container's variables are those of the template, then those of people (seed 001, "Create"). People replace theirs as a
 * whole. Without the annotation of a template all variables are theirs. A secret value is in a Secret of the app, and the
 * PhApplication only refers to it. In later entries of a name Kubernetes overrides earlier ones.
 */

import { appObjectName } from '../apps/names.ts'
import { envOfSpec, templateIn } from '../apps/template.ts'
import { appAnnotations } from '../apps/words.ts'
import { canonical } from '../base/canonical.ts'
import { ApiError, type ErrorDetail } from '../base/errors.ts'
import { asObject, asObjects, asOptionalText, asText, type JsonObject } from '../base/json.ts'
import { mask, secretTest } from '../base/secret-env.ts'
import type { Fact } from '../reconcile/types.ts'
import { annotationOf, specOf } from './sights.ts'

/** As people write it. Without a value, or with the mask of a secret one, it stays as it is. */
export interface EnvWish {
  readonly name: string
  readonly value?: string | undefined
}

/** As people see it. Without a value: it comes from elsewhere, such as a field of the pod. */
export interface EnvShown {
  readonly name: string
  readonly value?: string
}

/** The admission policy of apps knows this form. */
export const secretNameOf = (id: string, suffix: string): string => `${appObjectName(id)}-env-${suffix}`

export const containersOf = (spec: JsonObject): readonly JsonObject[] =>
  asObjects(asObject(asObject(spec.podTemplate).spec).containers)

/** Variables of the template that the app was made of; none if its annotation cannot be read. */
const templateEnv = (app: Fact): readonly JsonObject[] =>
  envOfSpec(templateIn(annotationOf(app, appAnnotations.template))?.spec ?? {})

export interface EnvParts {
  readonly template: readonly JsonObject[]
  readonly own: readonly JsonObject[]
}

/** Each entry of the template is taken away once; whatever is left was written by people. */
export function envParts(app: Fact): EnvParts {
  const template = templateEnv(app)
  const left = template.map(canonical)
  const own = envOfSpec(specOf(app)).filter(entry => {
    const at = left.indexOf(canonical(entry))
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
  return { template, own }
}

/** @param patterns `lab.secretPatterns` */
export function shownEnv(entries: readonly JsonObject[], patterns: readonly string[]): readonly EnvShown[] {
  const isSecret = secretTest(patterns)
  return entries.map(entry => {
    const name = asText(entry.name)
    const value = asOptionalText(entry.value)
    const from = asObject(entry.valueFrom)
    if (from.secretKeyRef !== undefined) return { name, value: mask }
    if (value === undefined && entry.valueFrom !== undefined) return { name }
    return { name, value: isSecret(name, value ?? '') ? mask : (value ?? '') }
  })
}

export interface NewEnv {
  /** All variables of the container. */
  readonly entries: readonly JsonObject[]
  /** Those of people among them. */
  readonly own: readonly JsonObject[]
  /** Values for a new Secret, by their keys. */
  readonly secrets: Readonly<Record<string, string>>
}

export interface EnvTerms {
  readonly id: string
  readonly patterns: readonly string[]
  /** Ends the name of the Secret with the new values, 16 hexadecimal digits: each change has another. */
  readonly suffix: string
}

/**
 * The variables after a change of those of people.
 * @throws {ApiError} 422 with an entry for each that cannot be
 */
export function newEnv(wishes: readonly EnvWish[], parts: EnvParts, { id, patterns, suffix }: EnvTerms): NewEnv {
  const isSecret = secretTest(patterns)
  const secrets: Record<string, string> = {}
  const detail: ErrorDetail[] = []
  const own = wishes.map(({ name, value }, index): JsonObject => {
    if (value === undefined || value === mask) {
      const standing = parts.own.findLast(
        entry => entry.name === name && (value === undefined || isMasked(entry, isSecret)),
      )
      if (!standing) detail.push(nothingToKeep(index))
      return standing ?? {}
    }
    if (!isSecret(name, value)) return { name, value }
    // A name may be no key of a Secret: the definition of templates bounds none.
    const key = `own.${index}`
    secrets[key] = value
    return { name, valueFrom: { secretKeyRef: { name: secretNameOf(id, suffix), key } } }
  })
  if (detail.length > 0) throw new ApiError(422, detail)
  return { entries: [...parts.template, ...own], own, secrets }
}

function isMasked(entry: JsonObject, isSecret: ReturnType<typeof secretTest>): boolean {
  return asObject(entry.valueFrom).secretKeyRef !== undefined || isSecret(asText(entry.name), asText(entry.value))
}

const nothingToKeep = (index: number): ErrorDetail => ({
  msg: 'the app has no such variable whose value could stay',
  type: 'invalid',
  loc: ['body', 'env', index, 'value'],
})
