/** The definition of the toy's custom resource. */
const text = { type: 'string' }

export const toyCrd = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'gadgets.toy.skylab.dev' },
  spec: {
    group: 'toy.skylab.dev',
    scope: 'Namespaced',
    names: { plural: 'gadgets', singular: 'gadget', kind: 'Gadget' },
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
