/** Templates of apps (seed 001, "PhAppTemplate"). The reconciler never reads one: REST copies its content into apps. Pure. */
import { asObject, asObjects, asText, type JsonObject } from '../base/json.ts'
import { registerKind } from '../kube/kinds.ts'
import { valueAt, withValueAt } from '../reconcile/merge.ts'
import type { Fact, ParentKind } from '../reconcile/types.ts'
import type { WatchedKind } from './watches.ts'
import { appGroup } from './words.ts'

export const templateParent: ParentKind = { apiVersion: `${appGroup}/v1alpha1`, kind: 'PhAppTemplate' }
registerKind(templateParent.apiVersion, templateParent.kind, { plural: 'phapptemplates', namespaced: true })

export const templateWatch: WatchedKind = {
  ...templateParent,
  paths: [['spec'], ['metadata', 'generation'], ['metadata', 'creationTimestamp']],
}

/** A variable that people fill in. */
export interface DefaultEnv {
  readonly name: string
  readonly description: string
  readonly defaultValue: string
  readonly optional: boolean
}

export interface AppTemplate {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly version: string
  readonly docLink: string
  readonly icon: string
  readonly defaultEnvs: readonly DefaultEnv[]
  /** Of its PhApplications, as it stands. */
  readonly spec: JsonObject
}

/** Whatever somebody wrote as a template: any field may be missing or wrong. */
export function readTemplate(id: string, spec: JsonObject): AppTemplate {
  const text = (name: string) => asText(spec[name])
  return {
    ...{ id, name: text('name') || id, description: text('description'), version: text('version') },
    ...{ docLink: text('docLink'), icon: text('icon') },
    defaultEnvs: asObjects(spec.defaultEnvs).map(each => ({
      ...{ name: asText(each.name), description: asText(each.description) },
      ...{ defaultValue: asText(each.defaultValue), optional: each.optional === true },
    })),
    spec: withoutOthers(asObject(asObject(spec.template).spec)),
  }
}

const podOfSpec = ['podTemplate', 'spec'] as const

/** Without the containers that no app runs: nobody looks for secret values in them, so nobody is shown them. */
function withoutOthers(spec: JsonObject): JsonObject {
  const pod = valueAt(spec, podOfSpec)
  if (typeof pod !== 'object' || pod === null || Array.isArray(pod)) return spec
  const { initContainers: _, ephemeralContainers: __, containers, ...rest } = pod as JsonObject
  const first = Array.isArray(containers) ? { containers: containers.slice(0, 1) } : {}
  return withValueAt(spec, podOfSpec, { ...rest, ...first }) as JsonObject
}

export const templateOf = ({ ref, owned }: Fact): AppTemplate => readTemplate(ref.name, asObject(owned.spec))

/** Of a template, by its definition. Whoever edits an app can write an annotation of any size. */
const [mostIcon, mostVariables] = [65_536, 64]

/** A part of a picture is none. */
const asIcon = (icon: string): string => (icon.length > mostIcon ? '' : icon)

/** The template that an app was made of, by its annotation; undefined if there is none that can be read. */
export function templateIn(annotation: string): AppTemplate | undefined {
  if (annotation === '') return undefined
  try {
    const { metadata, spec } = asObject(JSON.parse(annotation))
    const template = readTemplate(asText(asObject(metadata).name), asObject(spec))
    return { ...template, icon: asIcon(template.icon), defaultEnvs: template.defaultEnvs.slice(0, mostVariables) }
  } catch {
    return undefined
  }
}

/** The value of the annotation: the template as an object of the cluster, so that clients of PrimeHub read it. */
export function templateText({ id, spec, ...shown }: AppTemplate): string {
  return JSON.stringify({ ...templateParent, metadata: { name: id }, spec: { ...shown, template: { spec } } })
}

const firstContainer = ['podTemplate', 'spec', 'containers', '0'] as const

/** The variables of the first container of a PhApplication's spec. */
export const envOfSpec = (spec: JsonObject): readonly JsonObject[] =>
  asObjects(asObject(valueAt(spec, firstContainer)).env)

/** The same spec with other variables; as it is where it has no container. */
export function withEnv(spec: JsonObject, env: readonly JsonObject[]): JsonObject {
  const first = valueAt(spec, firstContainer)
  if (typeof first !== 'object' || first === null) return spec
  if (env.length === 0 && (first as JsonObject).env === undefined) return spec
  return withValueAt(spec, firstContainer, { ...first, env }) as JsonObject
}

/** What an app has of its template: its other fields are those of one app. */
export function copiedSpec({ spec: { podTemplate, svcTemplate, httpPort, rewrite } }: AppTemplate): JsonObject {
  return {
    ...{ podTemplate: podTemplate ?? {}, svcTemplate: svcTemplate ?? {} },
    ...(httpPort !== undefined && httpPort !== null && { httpPort }),
    ...(typeof rewrite === 'boolean' && { rewrite }),
  }
}
