/** Every place where a blow can land, made from the step lists themselves: a new step is struck on its first day. */
import { configSchema } from '../../../src/config/schema.ts'
import type { Identity, LabPlan } from '../../../src/domain.ts'
import { chooseLab } from '../../../src/labs/choose.ts'
import { renderLab } from '../../../src/labs/render.ts'
import { createSteps } from '../../../src/ops/create.ts'
import { cleanSteps, deleteSteps } from '../../../src/ops/delete.ts'
import type { Step } from '../../../src/ops/steps.ts'

/**
 * What a user is in the middle of:
 * - `create`: a first lab; `remake`: a lab after one that failed and left its namespace;
 * - `fail`: a creation that cannot succeed, and cleans up; `delete`: the deletion of a lab that runs.
 */
export type Story = 'create' | 'remake' | 'fail' | 'delete'

export interface Point {
  readonly story: Story
  /** Of the failpoint. */
  readonly name: string
}

function anyPlan(): LabPlan {
  const config = configSchema.parse({})
  const identity: Identity = { username: 'ada', token: 't', scopes: [], uid: 1, gid: 1, groups: [] }
  const image = { reference: 'r', tag: 't', digest: null, description: 'd' }
  const request = { options: { image_tag: 't' }, env: {} }
  return renderLab({ config, identity, request, choice: chooseLab(config.lab, identity, request.options), image })
}

/** A wait changes nothing: it can be struck when it is over. */
const places = ({ kind }: Step) => (kind === 'act' ? ['before-act', 'after-act', 'after-commit'] : ['after-commit'])

const along = (story: Story, kind: 'create' | 'delete', steps: readonly Step[]): Point[] =>
  steps.flatMap(step => places(step).map(place => ({ story, name: `lab.${kind}.${step.name}.${place}` })))

const finish = (story: Story, kind: 'create' | 'delete'): Point[] =>
  ['before-act', 'after-act'].map(place => ({ story, name: `lab.${kind}.finish.${place}` }))

const isClear = ({ name }: Step) => name.startsWith('clear.')

/** All of them, in the order of the steps. */
export function allPoints(): Point[] {
  const steps = createSteps(anyPlan())
  return [
    { story: 'create', name: 'lab.create.accepted' },
    ...along(
      'create',
      'create',
      steps.filter(step => !isClear(step)),
    ),
    ...finish('create', 'create'),
    ...along('remake', 'create', steps.filter(isClear)),
    ...along('fail', 'create', cleanSteps),
    ...finish('fail', 'create'),
    { story: 'delete', name: 'lab.delete.accepted' },
    ...along('delete', 'delete', deleteSteps),
    ...finish('delete', 'delete'),
  ]
}

/** Whether the whole matrix is asked for, which takes minutes, and not what is tried at each change. */
export const isWhole = process.env.SKYLAB_FAULTS === 'all'

/** Objects that are made one like the other, and what stands on both sides of one script. */
const alike =
  /\.make\.(configmap-nss|secret|secret-env|networkpolicy)\.|\.(clear|clean)\..*\.(before-act|after-commit)$/

/** All of them where the whole is asked for; otherwise without those that differ little from others. */
export function pointsToStrike(): Point[] {
  return isWhole ? allPoints() : allPoints().filter(({ name }) => !alike.test(name))
}
