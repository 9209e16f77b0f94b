/** Every point where a blow can land, made from the step lists: a new step is struck from its first day. */

import type { Identity, LabPlan } from '../../../src/base/domain.ts'
import { configSchema } from '../../../src/config/schema.ts'
import { chooseLab } from '../../../src/labs/choose.ts'
import { renderLab } from '../../../src/labs/render.ts'
import { noSources } from '../../../src/labs/sources.ts'
import { createSteps } from '../../../src/ops/create.ts'
import { cleanSteps, deleteSteps } from '../../../src/ops/delete.ts'
import type { Step } from '../../../src/ops/steps.ts'
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

/** Points around the one write of an act: its request, then its script. A wait writes only its script. */
const ofAct = ['before-act', 'before-send', 'after-send', 'after-act']
const ofScript = ['before-commit', 'after-commit']
const places = ({ kind }: Step) => (kind === 'act' ? [...ofAct, ...ofScript] : ofScript)

/** The last step of an operation has no script of its own: `finish` writes its result. */
function along(story: Story, kind: 'create' | 'delete', steps: readonly Step[]): Point[] {
  const isLast = ({ name }: Step) => name === 'start' || name.endsWith('namespace-gone')
  const written = steps.filter(step => !isLast(step) || isClear(step))
  return written.flatMap(step => places(step).map(place => ({ story, name: `lab.${kind}.${step.name}.${place}` })))
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

const isClear = ({ name }: Step) => name.startsWith('clear.')

/** Points of objects that only some labs have. They are made like all others: so one place each, in rotation. */
function ofSome(common: readonly Step[]): Point[] {
  const names = new Set(common.map(({ name }) => name))
  const steps = createSteps(planOf(true)).filter(({ name }) => !names.has(name))
  return steps.map((step, i) => {
    const all = places(step)
    return { story: 'create', name: `lab.create.${step.name}.${all[i % all.length]}` }
  })
}

const namesOfSome = new Set(ofSome(createSteps(planOf(false))).map(({ name }) => name))

/** Whether only a full lab reaches it. */
export const isOfFullLab = ({ name }: Point): boolean => namesOfSome.has(name)

/** All points in the order of the steps. Those of objects that only some labs have need a fleet of full labs. */
export function allPoints(): Point[] {
  const steps = createSteps(planOf(false))
  return [
    ...begin('create', 'create'),
    ...along(
      'create',
      'create',
      steps.filter(step => !isClear(step)),
    ),
    ...finish('create', 'create'),
    ...ofSome(steps),
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
  const isLike = ({ story, name }: Point) => story !== 'supersede' && alike.some(pattern => pattern.test(name))
  return isWhole ? allPoints() : allPoints().filter(point => !isLike(point))
}
