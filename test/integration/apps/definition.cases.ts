/** Bad PhApplications: what is sent, and the very words that come back. For docs/apps-resource.md and for its test. */
import { asObject, asObjects, type JsonObject } from '../../../src/base/json.ts'
import { seedApp } from '../../kit/apps/seed.ts'

export interface BadApp {
  readonly sent: string
  readonly body: () => JsonObject
  readonly words: string
}

type Change = (app: JsonObject) => JsonObject

const withSpec =
  (more: JsonObject): Change =>
  app => ({ ...app, spec: { ...asObject(app.spec), ...more } })
const pod =
  (more: JsonObject): Change =>
  app => {
    const before = asObject(asObject(asObject(app.spec).podTemplate).spec)
    return withSpec({ podTemplate: { spec: { ...before, ...more } } })(app)
  }
const container =
  (more: JsonObject): Change =>
  app => {
    const [first] = asObjects(asObject(asObject(asObject(app.spec).podTemplate).spec).containers)
    return pod({ containers: [{ ...first, ...more }] })(app)
  }
const service = (more: JsonObject): Change =>
  withSpec({ svcTemplate: { spec: { ports: [{ name: 'http', port: 5000 }], ...more } } })
const named =
  (name: string): Change =>
  app => ({ ...app, metadata: { ...asObject(app.metadata), name } })
const many = (length: number, each: (i: number) => JsonObject) => Array.from({ length }, (_, i) => each(i))

const bad = (sent: string, change: Change, words: string): BadApp => ({
  ...{ sent, words },
  body: () => change({ ...seedApp() }),
})

const nameWords =
  'metadata.name is the id of the app: at most 50 of a-z, 0-9 and -, beginning with a letter and ending with a letter or a digit; dots are not allowed'

export const badApps: readonly BadApp[] = [
  bad('a name of 51 characters', named('a'.repeat(51)), nameWords),
  bad('a name with a dot', named('a.b'), nameWords),
  bad('a name that begins with a digit', named('1a'), nameWords),
  bad('hostNetwork', pod({ hostNetwork: true }), 'hostNetwork is not allowed in an app'),
  bad('hostPID', pod({ hostPID: true }), 'hostPID is not allowed in an app'),
  bad('hostIPC', pod({ hostIPC: true }), 'hostIPC is not allowed in an app'),
  bad('nodeName', pod({ nodeName: 'node-1' }), 'nodeName is not allowed in an app'),
  bad(
    'serviceAccountName',
    pod({ serviceAccountName: 'default' }),
    'serviceAccountName is not allowed: an app has no rights in the cluster',
  ),
  bad(
    'a volume of hostPath',
    pod({ volumes: [{ name: 'node', hostPath: { path: '/' } }] }),
    'a volume of hostPath is not allowed in an app',
  ),
  bad(
    'a privileged container',
    container({ securityContext: { privileged: true } }),
    'the container of an app must not be privileged',
  ),
  bad(
    'an added capability',
    container({ securityContext: { capabilities: { add: ['SYS_ADMIN'] } } }),
    'the container of an app must not add capabilities',
  ),
  bad('a hostPort', container({ ports: [{ containerPort: 80, hostPort: 80 }] }), 'hostPort is not allowed in an app'),
  bad(
    'a variable PRIMEHUB_APP_ID',
    container({ env: [{ name: 'PRIMEHUB_APP_ID', value: 'other' }] }),
    'names of variables must not begin with PRIMEHUB_: the platform sets these',
  ),
  bad('no container', pod({ containers: [] }), 'spec.podTemplate.spec.containers: Invalid value: 0'),
  bad('9 containers', pod({ containers: many(9, i => ({ name: `c${i}` })) }), 'must have at most 8 items'),
  bad('201 variables', container({ env: many(201, i => ({ name: `A${i}` })) }), 'must have at most 200 items'),
  bad(
    'a Service of type NodePort',
    service({ type: 'NodePort' }),
    'the type of the Service must be ClusterIP: an app is reached in the cluster, or by the gateway',
  ),
  bad('externalIPs', service({ externalIPs: ['192.0.2.1'] }), 'externalIPs are not allowed in an app'),
  bad('externalName', service({ externalName: 'example.org' }), 'externalName is not allowed in an app'),
  bad('a nodePort', service({ ports: [{ port: 5000, nodePort: 30000 }] }), 'nodePort is not allowed in an app'),
  bad('100 ports', service({ ports: many(100, i => ({ port: i + 1, name: `p${i}` })) }), 'must have at most 16 items'),
  bad('the same port twice', service({ ports: [{ port: 5000 }, { port: 5000 }] }), 'Duplicate value'),
  bad(
    'an httpPort that is no port of the Service',
    withSpec({ httpPort: 5001 }),
    'httpPort must be one of the TCP ports of svcTemplate.spec.ports',
  ),
  bad('an unknown scope', withSpec({ scope: 'everybody' }), 'supported values: "group", "primehub", "public"'),
  bad('a group of 255 bytes', withSpec({ groupName: 'g'.repeat(255) }), 'may not be more than 253 bytes'),
  bad('no group', withSpec({ groupName: '' }), 'spec.groupName in body should be at least 1 chars long'),
  bad(
    'a group with a line break',
    withSpec({ groupName: 'a\nb' }),
    'control characters and invisible ones are not allowed in groupName',
  ),
  bad(
    'an annotation of 1 MB',
    app => ({
      ...app,
      metadata: {
        ...asObject(app.metadata),
        annotations: { 'phapplication.primehub.io/template-data': 'x'.repeat(1_048_576) },
      },
    }),
    'metadata.annotations: Too long',
  ),
]

/** Odd ones that are accepted; `words` say what becomes of them. */
export const oddApps: readonly BadApp[] = [
  bad('the group `..`', withSpec({ groupName: '..' }), 'nothing is made: phase `Error`, `WrongGroup`'),
  bad('a group of emoji', withSpec({ groupName: '🔭🔭' }), 'the same'),
  bad(
    'variables that name each other',
    container({
      env: [
        { name: 'A', value: '$(B)' },
        { name: 'B', value: '$(A)' },
      ],
    }),
    'the pod gets them as text: Kubernetes replaces `$(NAME)` by variables from before alone',
  ),
  bad('fields of a pod that nobody knows', pod({ tomorrow: { a: 1 } }), '`Pruned` names them'),
]
