/** An app as REST shows it. Pure. */
import { createdMsOf, displayNameOf, generationOf, groupNameOf, isStopped, scopeOf } from '../apps/spec.ts'
import { type AppTemplate, templateIn } from '../apps/template.ts'
import { appAnnotations } from '../apps/words.ts'
import { type AppPhase, type AppScope, appPhases } from '../base/app-route.ts'
import { asNumber, asObject, asObjects, asText } from '../base/json.ts'
import { cleanWords } from '../base/text.ts'
import type { PodFacts } from '../kube/pods/facts.ts'
import type { Fact } from '../reconcile/types.ts'
import { containersOf, type EnvShown, envParts, shownEnv } from './env.ts'
import { annotationOf, etagOf, specOf, statusOf } from './sights.ts'
import { maskedTemplate } from './template-masks.ts'

export interface AppSummary {
  readonly id: string
  readonly displayName: string
  readonly group: string
  readonly scope: AppScope
  readonly stop: boolean
  readonly phase: AppPhase
  readonly message: string
  readonly url?: string
}

export interface AppCondition {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
}

export interface AppDetail extends AppSummary {
  readonly uid: string
  readonly namespace: string
  readonly instanceType: string
  readonly image: string
  /** Those of people. */
  readonly env: readonly EnvShown[]
  /** Those of the template, which come first. */
  readonly templateEnv: readonly EnvShown[]
  /** The template that it was made of, as it was then. */
  readonly template?: Omit<AppTemplate, 'spec'>
  /** The port of the Service that has the web interface. */
  readonly httpPort?: number
  /** Whether it sees paths without the prefix. */
  readonly rewrite: boolean
  readonly serviceName?: string
  /** `name.namespace:port`, within the cluster. */
  readonly endpoints: readonly string[]
  readonly createdAt: string
  readonly generation: number
  readonly observedGeneration: number
  readonly conditions: readonly AppCondition[]
}

/** A detail and its version. */
export interface AppVersion {
  readonly detail: AppDetail
  readonly etag: string
}

export const phaseOf = (app: Fact): AppPhase => {
  const { phase } = statusOf(app)
  if (app.deleting) return 'Stopping'
  return appPhases.find(each => each === phase) ?? 'Starting'
}

const messageOf = (app: Fact): string => asText(statusOf(app).message)

/** The data of the event `phase`; '' before the first status. */
export const phaseData = (app: Fact): string =>
  statusOf(app).phase === undefined ? '' : JSON.stringify({ phase: phaseOf(app), message: messageOf(app) })

export function summaryOf(app: Fact): AppSummary {
  const url = asText(statusOf(app).url)
  return {
    ...{ id: app.ref.name, displayName: displayNameOf(app), group: groupNameOf(app) },
    ...{ scope: scopeOf(app), stop: isStopped(app), phase: phaseOf(app), message: messageOf(app) },
    ...(url !== '' && { url }),
  }
}

/** @param patterns `lab.secretPatterns` */
export function detailOf(app: Fact, patterns: readonly string[]): AppVersion {
  const spec = specOf(app)
  const status = statusOf(app)
  const serviceName = asText(status.serviceName)
  const ports = asObjects(asObject(asObject(spec.svcTemplate).spec).ports)
  const namespace = app.ref.namespace ?? ''
  const { own, template } = envParts(app)
  const madeOf = templateIn(annotationOf(app, appAnnotations.template))
  const httpPort = asNumber(spec.httpPort)
  const detail = {
    ...summaryOf(app),
    ...{ uid: app.uid, namespace, instanceType: asText(spec.instanceType) },
    image: asText(containersOf(spec)[0]?.image),
    ...{ env: shownEnv(own, patterns), templateEnv: shownEnv(template, patterns) },
    ...(madeOf && { template: shownTemplate(madeOf, patterns) }),
    ...(httpPort !== 0 && { httpPort }),
    rewrite: spec.rewrite === true,
    ...(serviceName !== '' && { serviceName }),
    endpoints: serviceName === '' ? [] : ports.map(({ port }) => `${serviceName}.${namespace}:${asNumber(port)}`),
    createdAt: new Date(createdMsOf(app)).toISOString(),
    ...{ generation: generationOf(app), observedGeneration: asNumber(status.observedGeneration) },
    conditions: asObjects(status.conditions).map(({ type, status, reason, message }) => ({
      ...{ type: asText(type), status: asText(status), reason: asText(reason), message: asText(message) },
    })),
  }
  return { detail, etag: etagOf(app) }
}

function shownTemplate(template: AppTemplate, patterns: readonly string[]): Omit<AppTemplate, 'spec'> {
  const { spec: _, ...shown } = maskedTemplate(template, patterns)
  return shown
}

export interface PodView {
  readonly name: string
  readonly phase: PodFacts['phase']
  readonly ready: boolean
  readonly restarts: number
  readonly deleting: boolean
  readonly node?: string
  /** Why it does not run, in the cluster's words; empty if there is nothing to say. */
  readonly message: string
}

export const podView = (pod: PodFacts): PodView => ({
  ...{ name: pod.name, phase: pod.phase, deleting: pod.deleting },
  ready: pod.containers.length > 0 && pod.containers.every(({ ready }) => ready),
  restarts: pod.containers.reduce((sum, { restartCount }) => sum + restartCount, 0),
  ...(pod.node !== undefined && { node: pod.node }),
  message: podMessage(pod),
})

function podMessage(pod: PodFacts): string {
  const held = [...pod.initContainers, ...pod.containers].find(({ waiting }) => waiting !== undefined)?.waiting
  const ended = pod.containers.find(({ terminated }) => terminated !== undefined)?.terminated
  const words = [
    pod.reason && `${pod.reason}: ${pod.message}`,
    pod.unschedulable !== undefined && !pod.node && `Unschedulable: ${pod.unschedulable}`,
    held && `${held.reason}: ${held.message}`,
    ended && `${ended.reason}: exit code ${ended.exitCode}`,
  ].find(each => typeof each === 'string' && each !== '')
  return typeof words === 'string' ? cleanWords(words).replace(/: ?$/, '') : ''
}
