/** Questions to the API server's authorizer, by SubjectAccessReviews. */
import { systemClock } from '../../src/base/clock.ts'
import { percentile, round } from '../measure/statistics.ts'
import { tenantName } from './fill.ts'
import type { Scene } from './scene.ts'

interface Question {
  readonly user: string
  readonly groups?: readonly string[]
  readonly resourceAttributes: object
  readonly allowed: boolean
}

const pods = (namespace: string) => ({ verb: 'get', resource: 'pods', namespace })
const name = tenantName(0)
const authenticated = ['system:authenticated']

/** The administrator of the cluster is known without a look at any binding: what the request costs by itself. */
const questions = {
  administrator: { user: 'admin', groups: ['system:masters'], resourceAttributes: pods(name), allowed: true },
  everybody: { user: 'eve', groups: authenticated, resourceAttributes: pods('default'), allowed: true },
  stranger: { user: 'eve', resourceAttributes: pods(name), allowed: false },
  user: { user: 'user-0', resourceAttributes: pods(name), allowed: true },
  manager: {
    user: 'manager-0',
    resourceAttributes: { group: 'gial.lblw.dev', resource: 'lnamespaces', name, verb: 'update' },
    allowed: true,
  },
  sudoer: {
    user: 'sudoer-0@example.org',
    resourceAttributes: { resource: 'groups', name: `${name}-sudoers`, verb: 'impersonate' },
    allowed: true,
  },
  root: {
    user: 'sudoer-0@example.org',
    groups: [`${name}-sudoers`],
    resourceAttributes: { ...pods(name), verb: 'delete' },
    allowed: true,
  },
} as const satisfies Readonly<Record<string, Question>>

type Name = keyof typeof questions
type Times = Readonly<Record<Name, readonly number[]>>

const names = Object.keys(questions) as Name[]
const warmUp = 20

/** Milliseconds of each answer. The questions take turns, so that all of them see the same machine. */
export async function authorizationFigures(scene: Scene): Promise<Times> {
  const times = Object.fromEntries(names.map(each => [each, [] as number[]])) as Record<Name, number[]>
  for (let turn = -warmUp; turn < scene.options.questions; turn++) {
    for (const each of names) {
      const took = await ask(scene, questions[each])
      if (turn >= 0) times[each].push(took)
    }
  }
  return times
}

async function ask({ kube, signal }: Scene, { allowed, ...spec }: Question): Promise<number> {
  signal.throwIfAborted()
  const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec }
  const begunMs = systemClock.monotonicMs()
  const { body } = await kube.request('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', review)
  const tookMs = systemClock.monotonicMs() - begunMs
  if (body.status?.allowed !== allowed) throw new Error(`${spec.user}: ${JSON.stringify(body.status ?? body.message)}`)
  return tookMs
}

export const summary = (times: readonly number[]) => ({
  p50: round(percentile(times, 0.5), 2),
  p99: round(percentile(times, 0.99), 2),
})

/** Each question without tenants and with them. */
export const compareFigures = (few: Times, many: Times): object =>
  Object.fromEntries(
    names.map(each => {
      const [without, withTenants] = [summary(few[each]), summary(many[each])]
      const [p50, p99] = [round(withTenants.p50 / without.p50, 2), round(withTenants.p99 / without.p99, 2)]
      return [
        each,
        { allowed: questions[each].allowed, without_ms: without, with_ms: withTenants, ratio: { p50, p99 } },
      ]
    }),
  )
