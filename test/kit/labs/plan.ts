/** Plans for tests: of a default lab with a test's changes. */

import type { CreateRequest, Identity, KubeObject, LabPlan } from '../../../src/base/domain.ts'
import { asObject, asObjects, type JsonObject } from '../../../src/base/json.ts'
import { configSchema } from '../../../src/config/schema.ts'
import { chooseLab } from '../../../src/labs/choose.ts'
import { type IdleLabs, type RenderedLab, renderLab } from '../../../src/labs/render.ts'
import { type LabSources, noSources } from '../../../src/labs/sources.ts'
import { labProblems } from '../../../src/settings/lab-checks.ts'

/** The user of the examples of SQR-066. */
export const rra: Identity = {
  username: 'rra',
  token: 'notebook-token',
  scopes: ['exec:notebook'],
  uid: 4266950,
  gid: 4266950,
  groups: [{ name: 'lsst-data-management', id: 170034 }, { name: 'rra', id: 4266950 }, { name: 'no-number' }],
}

/** The request of the examples of SQR-066. */
export const specRequest: CreateRequest = {
  options: {
    enable_debug: true,
    image_list: 'lsstsqre/sciplat-lab:w_2022_37',
    reset_user_env: true,
    size: 'large',
  },
  env: {
    JUPYTERHUB_API_URL: 'http://hub.nublado2:8081/nb/hub/api',
    JUPYTERHUB_API_TOKEN: 'hub-token',
    JUPYTERHUB_SERVICE_PREFIX: '/nb/user/rra/',
  },
}

const digest = `sha256:${'0123456789abcdef'.repeat(4)}`
const image = {
  reference: `registry.hub.docker.com/lsstsqre/sciplat-lab:w_2022_37@${digest}`,
  tag: 'w_2022_37',
  digest,
  description: 'Weekly 2022_37',
}

export interface Changes {
  readonly config?: object
  readonly identity?: Partial<Identity>
  readonly request?: Partial<CreateRequest>
  readonly sources?: Partial<LabSources>
  readonly idle?: IdleLabs
}

/** Renders a lab with a configuration that `skylab check` accepts. */
export function renderBoth(changes: Changes = {}): RenderedLab {
  const config = configSchema.parse(changes.config ?? {})
  const problems = labProblems(config)
  if (problems.length > 0) throw new Error(problems.join('\n'))
  const identity = { ...rra, ...changes.identity }
  const request = { ...specRequest, ...changes.request }
  const sources = { ...noSources, ...changes.sources }
  return renderLab({
    config,
    identity,
    request,
    choice: chooseLab(config.lab, identity, request.options),
    image,
    sources,
    idle: changes.idle,
  })
}

/** The plan alone. */
export const render = (changes: Changes = {}): LabPlan => renderBoth(changes).plan

/** The plan of a lab with this block `lab`. */
export const renderWith = (lab: object, changes: Changes = {}): LabPlan => render({ ...changes, config: { lab } })

/** The block `lab` of docs/examples. */
export interface ExampleLab {
  readonly volumes: readonly { readonly name: string }[]
  readonly mounts: readonly object[]
}

/** A lab with everything configured at once: the example, with each of its volumes mounted. */
export function renderEverything(lab: ExampleLab, changes: object = {}, installation?: string): LabPlan {
  const each = lab.volumes.map(({ name }) => ({ volume: name, path: `/volumes/${name}` }))
  return render({
    config: { installation, lab: { ...lab, token: 'bearer', mounts: [...lab.mounts, ...each], ...changes } },
    identity: {
      groups: [{ name: 'simulations', id: 7 }, { name: 'physics' }],
      quota: { spawn: true, cpu: 4, memoryBytes: 2 ** 33 },
    },
    sources: {
      secrets: { 'butler-credentials.yaml': 'YQ==' },
      pullSecret: 'e30=',
      configMaps: { site: { data: { 'site.txt': 'a' }, binaryData: { 'site.bin': 'AA==' } } },
    },
  })
}

export const all = ({ namespace, objects }: LabPlan): KubeObject[] => [namespace, ...objects]

/** The only object of a kind, by the part of its name after `nb-rra`. */
export function objectOf(plan: LabPlan, kind: string, suffix = ''): KubeObject | undefined {
  return plan.objects.find(object => object.kind === kind && object.metadata.name === `nb-rra${suffix}`)
}

export const podSpecIn = (plan: LabPlan): JsonObject => asObject(objectOf(plan, 'Pod')?.spec)
export const labContainer = (plan: LabPlan): JsonObject => asObjects(podSpecIn(plan).containers)[0]!
export const initContainers = (plan: LabPlan): readonly JsonObject[] => asObjects(podSpecIn(plan).initContainers)
