/**
 * The part of Gafaelfawr's custom resource that our ingresses use, so that an API server validates them. Fields that
 * are missing here are refused. Written after its documentation.
 */
import type { AdminKube } from './kube.ts'
import { eventually } from './world.ts'

const text = { type: 'string' }
const texts = { type: 'array', items: text }
const textMap = { type: 'object', additionalProperties: text }
const object = (properties: object, required: readonly string[] = []) => ({ type: 'object', properties, required })

const config = object(
  {
    scopes: object({ all: texts, any: texts, anonymous: { type: 'boolean' } }),
    service: text,
    loginRedirect: { type: 'boolean' },
    authCacheDuration: text,
    delegate: object({
      notebook: object({}),
      internal: object({ service: text, scopes: texts }, ['service', 'scopes']),
      minimumLifetime: { type: 'integer' },
    }),
  },
  ['scopes', 'service'],
)

const port = object({ name: text, number: { type: 'integer' } })
const backend = object({ service: object({ name: text, port }, ['name', 'port']) }, ['service'])
const path = object(
  { path: text, pathType: { type: 'string', enum: ['Exact', 'Prefix', 'ImplementationSpecific'] }, backend },
  ['path', 'pathType', 'backend'],
)
const rule = object({ host: text, http: object({ paths: { type: 'array', items: path } }, ['paths']) }, [
  'host',
  'http',
])
const tls = object({ hosts: texts, secretName: text })

const template = object(
  {
    metadata: object({ name: text, labels: textMap, annotations: textMap }, ['name']),
    spec: object({ rules: { type: 'array', items: rule }, tls: { type: 'array', items: tls } }, ['rules']),
  },
  ['metadata', 'spec'],
)

const gafaelfawrCrd = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'gafaelfawringresses.gafaelfawr.lsst.io' },
  spec: {
    group: 'gafaelfawr.lsst.io',
    scope: 'Namespaced',
    names: { plural: 'gafaelfawringresses', singular: 'gafaelfawringress', kind: 'GafaelfawrIngress' },
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: object({ config, template }, ['config', 'template']) },
      },
    ],
  },
} as const

/** Adds it to the cluster; resolves when the API server knows it. */
export async function defineGafaelfawr(admin: AdminKube): Promise<void> {
  const made = await admin.request('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', gafaelfawrCrd)
  if (made.status !== 201 && made.status !== 409) throw new Error(`${made.status} ${made.body.message}`)
  await eventually('the custom resource', async () => {
    const { status } = await admin.request('GET', '/apis/gafaelfawr.lsst.io/v1alpha1/gafaelfawringresses')
    return status === 200
  })
}
