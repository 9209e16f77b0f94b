/** The definition of the sample's custom resource. */
const text = { type: 'string' }

export const sampleCrd = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'samples.sample.skylab.dev' },
  spec: {
    group: 'sample.skylab.dev',
    scope: 'Namespaced',
    names: { plural: 'samples', singular: 'sample', kind: 'Sample' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: { colour: text, image: text, members: { type: 'array', items: text } },
              },
              status: {
                type: 'object',
                properties: { phase: text, message: text, observedGeneration: { type: 'integer' } },
              },
            },
          },
        },
      },
    ],
  },
}
