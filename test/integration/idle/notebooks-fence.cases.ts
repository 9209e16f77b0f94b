/** Writes of the account of notebooks: those that its policy admits, and those that one rule of it refuses. */
import type { KubeObject } from '../../../src/base/domain.ts'
import { idleLabel } from '../../../src/idle/notebooks/objects.ts'
import { stamps } from '../../../src/kube/labels.ts'
import { notebook, pathOf, statefulSet, type WorkloadKind } from '../../kit/idle/notebooks-site.ts'

export interface Write {
  readonly title: string
  readonly method: 'PATCH' | 'POST'
  readonly path: string
  readonly body: object
  /** Of the one rule that refuses it; an admitted write has none. */
  readonly words?: string
}

export const time = '2026-11-24T19:06:00Z'
const idle = { labels: { [idleLabel]: 'true' } }
const owner = { apiVersion: 'v1', kind: 'Namespace', name: 'team', uid: 'x' }
const theirs = 'team.example.org/x'
/** As large as people's get: five hundred variables. */
const env = Array.from({ length: 500 }, (_, index) => ({ name: `VARIABLE_${index}`, value: 'x'.repeat(100) }))
const large = { template: { spec: { containers: [{ name: 'main', image: 'example.org/notebook:1', env }] } } }

/** What people have made. */
export const objects: readonly KubeObject[] = [
  notebook('ada', { labels: { app: 'ada' }, annotations: { [theirs]: 'y' }, finalizers: ['team.example.org/keep'] }),
  notebook('stopped', { annotations: { [stamps.stopped]: time, [stamps.lastActivity]: time } }),
  notebook('large', {}, large),
  statefulSet('bob', { ...idle, annotations: { [theirs]: 'y' } }, { minReadySeconds: 5 }),
  statefulSet('resting', { ...idle, annotations: { [stamps.stopped]: time } }, { replicas: 0 }),
  statefulSet('stopped', { ...idle, annotations: { [stamps.stopped]: '' } }),
  statefulSet('started', idle, { replicas: 0 }),
  statefulSet('three', idle, { replicas: 3 }),
  statefulSet('large', idle, { template: { metadata: { labels: { set: 'large' } }, spec: large.template.spec } }),
  statefulSet('redis'),
  statefulSet('unasked', { labels: { [idleLabel]: 'false' } }),
]

const change = (kind: WorkloadKind, name: string, body: object, title: string, words?: string): Write => ({
  ...{ title, method: 'PATCH', path: pathOf(kind, name), body },
  ...(words !== undefined && { words }),
})
const ofNotebook = (title: string, body: object, words?: string, name = 'ada') =>
  change('Notebook', name, body, title, words)
const ofSet = (title: string, body: object, words?: string, name = 'bob') =>
  change('StatefulSet', name, body, title, words)
const annotate = (annotations: object) => ({ metadata: { annotations } })
const stop = annotate({ [stamps.stopped]: time })
const container = (more: object) => ({ spec: { template: { spec: { containers: [{ name: 'main', ...more }] } } } })

export const admitted: readonly Write[] = [
  ...Object.values(stamps).map(key => ofNotebook(`${key} of a notebook`, annotate({ [key]: time }))),
  ofNotebook('both times at once', annotate({ [stamps.lastActivity]: time, [stamps.checked]: time })),
  ofNotebook(
    'no times any more',
    annotate({ [stamps.lastActivity]: null, [stamps.checked]: null }),
    undefined,
    'stopped',
  ),
  ofNotebook('a stamp of a large notebook', stop, undefined, 'large'),
  ...Object.values(stamps).map(key => ofSet(`${key} of a labelled StatefulSet`, annotate({ [key]: time }))),
  ofSet('the stop of a StatefulSet', { ...stop, spec: { replicas: 0 } }),
  ofSet('that of one which people have stamped', { spec: { replicas: 0 } }, undefined, 'stopped'),
  ofSet('its start, once people have taken the stamp away', { spec: { replicas: 1 } }, undefined, 'started'),
  ofSet('a stamp of a StatefulSet of three', annotate({ [stamps.checked]: time }), undefined, 'three'),
  ofSet('a stamp of a large StatefulSet', stop, undefined, 'large'),
]

const metadata = 'it would change labels, owners, finalizers'
const annotation = 'an annotation that is no stamp'
const noTime = 'a stamp that is no time'
const unlabelled = 'does not bear user.skylab/idle=true'
const whatItIs = 'it would change what the notebook is'
const whatItRuns = 'it would change what the StatefulSet runs'
const numbers = 'another number of replicas than 0 where it is stopped'
const starting = 'it would take a stop away'

export const refused: readonly Write[] = [
  ofNotebook('another image', { spec: container({ image: 'example.org/miner:1' }).spec }, whatItIs),
  ofNotebook('a further field of the spec', { spec: { x: 'y' } }, whatItIs),
  ofNotebook('an emptied spec', { spec: null }, whatItIs),
  ofNotebook('another image together with a stamp', { ...stop, spec: { template: null } }, whatItIs),
  ofNotebook('a label', { metadata: { labels: { app: 'eve' } } }, metadata),
  ofNotebook('a label taken away', { metadata: { labels: { app: null } } }, metadata),
  ofNotebook('no labels any more', { metadata: { labels: null } }, metadata),
  ofNotebook('an owner', { metadata: { ownerReferences: [owner] } }, metadata),
  ofNotebook('a finalizer', { metadata: { finalizers: ['team.example.org/keep', 'thief.example/stay'] } }, metadata),
  ofNotebook('no finalizer any more', { metadata: { finalizers: null } }, metadata),
  ofNotebook('an annotation', annotate({ 'sidecar.istio.io/inject': 'false' }), annotation),
  ofNotebook('another value of one', annotate({ [theirs]: 'z' }), annotation),
  ofNotebook('an annotation taken away', annotate({ [theirs]: null }), annotation),
  ofNotebook('one that begins like a stamp', annotate({ [`${stamps.stopped}-x`]: time }), annotation),
  ofNotebook('a stamp that is a script', annotate({ [stamps.keepUntil]: '<script>' }), noTime),
  ofNotebook('an empty stamp', annotate({ [stamps.stopped]: '' }), noTime),
  ofNotebook('a stamp of many digits', annotate({ [stamps.stopped]: '0'.repeat(41) }), noTime),
  ofSet('a stamp without the label', stop, unlabelled, 'redis'),
  ofSet('a stop without the label', { spec: { replicas: 0 } }, unlabelled, 'redis'),
  ofSet('a stamp where the label says false', stop, unlabelled, 'unasked'),
  ofSet(
    'the label itself',
    { metadata: { labels: { [idleLabel]: 'true' } }, spec: { replicas: 0 } },
    unlabelled,
    'redis',
  ),
  ofSet('the label taken away', { metadata: { labels: { [idleLabel]: null } } }, metadata),
  ofSet('another image', container({ image: 'example.org/miner:1' }), whatItRuns),
  ofSet('a stop with another image', { spec: { ...container({ image: 'x' }).spec, replicas: 0 } }, whatItRuns),
  ofSet('an own account', { spec: { template: { spec: { serviceAccountName: 'admin' } } } }, whatItRuns),
  ofSet('a time before it counts as ready', { spec: { minReadySeconds: 60 } }, whatItRuns),
  ofSet('that time taken away', { spec: { minReadySeconds: null } }, whatItRuns),
  ofSet(
    'what becomes of its volumes',
    { spec: { persistentVolumeClaimRetentionPolicy: { whenScaled: 'Delete' } } },
    whatItRuns,
  ),
  ofSet('two replicas', { spec: { replicas: 2 } }, numbers),
  ofSet('a thousand replicas of three', { spec: { replicas: 1000 } }, numbers, 'three'),
  ofSet('none without a stamp', { spec: { replicas: 0 } }, numbers),
  ofSet('a start in spite of the stamp', { spec: { replicas: 1 } }, numbers, 'resting'),
  ofSet('two replicas of a stopped one', { spec: { replicas: 2 } }, numbers, 'stopped'),
  ofNotebook('a stop taken away', annotate({ [stamps.stopped]: null }), starting, 'stopped'),
  ofNotebook('another time of a stop', annotate({ [stamps.stopped]: '2026-11-25T00:00:00Z' }), starting, 'stopped'),
  ofSet('a start', { ...annotate({ [stamps.stopped]: null }), spec: { replicas: 1 } }, starting, 'resting'),
  ofSet('a stop without a time taken away', annotate({ [stamps.stopped]: null }), starting, 'stopped'),
]

const making = 'it makes an object, or writes a status or a scale'
/** RBAC refuses these already. */
export const beyondRbac: readonly Write[] = [
  { title: 'a notebook', method: 'POST', path: pathOf('Notebook'), body: notebook('eve'), words: making },
  {
    title: 'a StatefulSet',
    method: 'POST',
    path: pathOf('StatefulSet'),
    body: statefulSet('eve', idle),
    words: making,
  },
  {
    ...{ title: 'the status of a notebook', method: 'PATCH', path: `${pathOf('Notebook', 'ada')}/status` },
    ...{ body: { status: { readyReplicas: 1 } }, words: making },
  },
  {
    ...{ title: 'the scale of a StatefulSet', method: 'PATCH', path: `${pathOf('StatefulSet', 'bob')}/scale` },
    ...{ body: { spec: { replicas: 0 } }, words: making },
  },
  {
    ...{ title: 'the status of a StatefulSet', method: 'PATCH', path: `${pathOf('StatefulSet', 'bob')}/status` },
    ...{ body: { status: { replicas: 5 } }, words: making },
  },
]
