/** Every point where a blow can land, made from the step lists: a new step is struck from its first day. */

import type { Identity, LabPlan } from '../../../src/base/domain.ts'
import { configSchema } from '../../../src/config/schema.ts'
import { chooseLab } from '../../../src/labs/choose.ts'
import { renderLab } from '../../../src/labs/render.ts'
import { noSources } from '../../../src/labs/sources.ts'
import { placeOf } from '../../../src/ops/content.ts'
import { createSteps } from '../../../src/ops/create.ts'
import { cleanSteps, deleteSteps } from '../../../src/ops/delete.ts'
import type { LabStep } from '../../../src/ops/lab-context.ts'
import { fullLabConfig, fullLabSources, quota } from '../../kit/fleet/full-lab.ts'

/**
 * The operation that a user is in the middle of:
 * - `create`: a first lab; `remake`: a lab after one that failed and left its namespace;
 * - `fail`: a creation that cannot succeed, and cleans up; `delete`: the deletion of a running lab;
 * - `supersede`: a deletion that replaces a creation.
 */
export type Story = 'create' | 'remake' | 'fail' | 'delete' | 'supersede'

export interface Point {
  readonly story: Story
  /** Name of the failpoint. */
  readonly name: string
  /** Failpoints at which other requests of the same act are held when the blow lands. */
  readonly beside?: readonly string[]
}

/** The plan of a lab with the minimum, or with everything that can be configured. */
function planOf(hasFullLabs: boolean): LabPlan {
  const config = configSchema.parse(hasFullLabs ? { lab: fullLabConfig('full') } : {})
  const person: Identity = { username: 'ada', token: 't', scopes: [], uid: 1, gid: 1, groups: [] }
  const identity = hasFullLabs ? { ...person, quota: { spawn: true, ...quota } } : person
  const image = { reference: 'r', tag: 't', digest: null, description: 'd' }
  const request = { options: { image_tag: 't' }, env: {} }
  const choice = chooseLab(config.lab, identity, request.options)
  const sources = hasFullLabs ? fullLabSources : noSources
  return renderLab({ config, identity, request, choice, image, sources }).plan
}

/** Number of objects that a story's operation makes. A user with an earlier lab was provisioned by that one. */
export function objectsMade({ story }: Point, hasFullLabs: boolean): number {
  if (story === 'delete' || story === 'supersede') return 0
  const all = planOf(hasFullLabs).objects.length + 1
  return hasFullLabs && story === 'remake' ? all - 1 : all
}

const isClear = ({ name }: LabStep) => name.startsWith('clear.')

/** Points around the one request of an act, and around its script. */
const ofRequest = ['before-act', 'before-send', 'after-send', 'after-act']
const ofScript = ['before-commit', 'after-commit']

/** Names of the objects that a lab's creation makes in one act, in the order of their requests. */
function contentOf({ objects }: LabPlan): readonly string[] {
  const lab = objects.at(-1)!.metadata.name
  return objects.slice(0, -1).map(object => placeOf(object, lab))
}

/** A wait writes only its script. The act with the content has a request for each object, all sent at once. */
function placesOf({ name, kind }: LabStep, content: readonly string[]): string[] {
  if (kind === 'wait') return ofScript.map(place => `${name}.${place}`)
  const requests = name === 'make.content' ? content : []
  const inner = requests.flatMap(request => ofRequest.map(place => `${request}.${place}`))
  const own = requests.length > 0 ? ['before-act', 'after-act'] : ofRequest
  return [`${name}.${own[0]}`, ...inner, ...[...own.slice(1), ...ofScript].map(place => `${name}.${place}`)]
}

/** The last step of an operation has no script of its own: `finish` writes its result. */
function along(
  story: Story,
  kind: 'create' | 'delete',
  steps: readonly LabStep[],
  content: readonly string[] = [],
): Point[] {
  const isLast = ({ name }: LabStep) => name === 'start' || name.endsWith('namespace-gone')
  const written = steps.filter(step => !isLast(step) || isClear(step))
  return written.flatMap(step => placesOf(step, content).map(place => ({ story, name: `lab.${kind}.${place}` })))
}

/**
 * Amid the act that makes the content of a plain lab: one object is made, and no request for another is sent; or all are
 * made, and only one answer has arrived.
 */
function amid(content: readonly string[]): Point[] {
  const others = (first: string, place: string) =>
    content.filter(name => name !== first).map(name => `lab.create.${name}.${place}`)
  const [first, last] = [content[0]!, content.at(-1)!]
  const unsent = others(last, 'before-send').slice(1)
  return [
    { name: `lab.create.${last}.before-send`, beside: [`lab.create.${first}.after-act`, ...unsent] },
    { name: `lab.create.${last}.after-act`, beside: others(last, 'after-send') },
  ].map(point => ({ story: 'create', ...point }))
}

const finish = (story: Story, kind: 'create' | 'delete'): Point[] =>
  ['before-act', 'before-commit', 'after-act'].map(place => ({ story, name: `lab.${kind}.finish.${place}` }))

/** Accepted but not answered; the lease taken but not claimed with; owned, before the first step. */
const begin = (story: Story, kind: 'create' | 'delete'): Point[] =>
  [`lab.${kind}.accepted`, 'lab.claim.before-act', `lab.${kind}.owned`].map(name => ({ story, name }))

/** The owner of a superseded creation has sent a write, is about to release, or has released. */
export const supersededPoints = [
  'lab.create.make.service.after-send',
  'lab.create.release.before-act',
  'lab.create.release.after-act',
]

/** The successor of a creation is accepted, begins, and removes the creation's objects. */
const superseding: readonly Point[] = [
  'lab.delete.accepted',
  'lab.delete.owned',
  'lab.delete.namespace.before-send',
].map(name => ({ story: 'supersede', name }))

/** Points of objects that only some labs have. They are made like all others: so one place each, in rotation. */
function ofSome(): Point[] {
  const common = contentOf(planOf(false))
  const some = contentOf(planOf(true)).filter(name => !common.includes(name))
  return some.map((name, i) => ({
    ...{ story: 'create', name: `lab.create.${name}.${ofRequest[i % ofRequest.length]}` },
  }))
}

const namesOfSome = new Set(ofSome().map(({ name }) => name))

/** Whether only a full lab reaches it. */
export const isOfFullLab = ({ name }: Point): boolean => namesOfSome.has(name)

/** All points in the order of the steps. Those of objects that only some labs have need a fleet of full labs. */
export function allPoints(): Point[] {
  const plan = planOf(false)
  const steps = createSteps(plan)
  const making = steps.filter(step => !isClear(step))
  return [
    ...begin('create', 'create'),
    ...along('create', 'create', making, contentOf(plan)),
    ...amid(contentOf(plan)),
    ...finish('create', 'create'),
    ...ofSome(),
    ...along('remake', 'create', steps.filter(isClear)),
    { story: 'fail', name: 'lab.create.fail.before-commit' },
    ...along('fail', 'create', cleanSteps),
    ...finish('fail', 'create'),
    ...begin('delete', 'delete'),
    ...along('delete', 'delete', deleteSteps),
    ...finish('delete', 'delete'),
    ...superseding,
  ]
}

/**
 * The worst moments of a creation and of a deletion: accepted but not answered, accepted but not owned, owned before the
 * first step, sent but not answered, done but not recorded, recorded, while finishing, finished, while superseding.
 */
const worst = /\.(accepted|owned)$|^lab\.claim\.|(\.make|delete)\.pod\.after-|\.finish\.(before-commit|after-act)$/
const isWorst = ({ story, name }: Point) =>
  story === 'supersede' || ((story === 'create' || story === 'delete') && worst.test(name))

export const worstPoints = (): Point[] => allPoints().filter(isWorst)

/** Whether the run has full size, which takes minutes, instead of the points for each change. */
export const isWhole = process.env.SKYLAB_FAULTS === 'all'

/** Points that differ little from others: similar objects, both sides of one script, common parts of steps. */
const alike = [
  /\.make\.(configmap-(nss|provision)|secret|secret-env|networkpolicy|service)\./,
  /\.(clear|clean)\..*\.(before-act|after-commit)$/,
  /(?<!\.make\.pod|\.delete\.pod|\.finish)\.(before-send|after-send|before-commit)$/,
]

/** All points in a whole run; else without those that differ little from others. */
export function pointsToStrike(): Point[] {
  const isLike = ({ story, name, beside }: Point) =>
    story !== 'supersede' && !beside && alike.some(pattern => pattern.test(name))
  return isWhole ? allPoints() : allPoints().filter(point => !isLike(point))
}
