/** Descriptions and examples of the routes of templates, for the document. */
import type { z } from '@hono/zod-openapi'
import type { templateBody, templateDetail, templateList } from './template-schemas.ts'

export const listWords = `Templates by id, in pages, with the variables that people fill in. Everybody sees all of them.`
export const detailWords = `All of a template but its secret values, which are shown as \`***\`. Its \`ETag\` is its version.`
export const putWords = `Makes the template, or replaces it as a whole: what is absent is empty then. Apps keep what they were made of. A secret value that is
sent as \`***\`, as it was shown, stays as it stands. What the API server refuses is answered 422, with its words.`
export const deleteWords = `Deletes the template. Its apps stay, and can be changed.`

const spec = {
  podTemplate: { spec: { containers: [{ name: 'mlflow', image: 'registry.example.org/mlflow:2.14' }] } },
  svcTemplate: { spec: { ports: [{ name: 'http', port: 5000, protocol: 'TCP', targetPort: 5000 }] } },
  httpPort: 5000,
}

const shown = {
  ...{ name: 'MLflow', description: 'Experiments and models', version: '2.14' },
  ...{ docLink: 'https://mlflow.org/docs/latest/', icon: 'https://example.org/mlflow.png' },
  defaultEnvs: [
    {
      ...{ name: 'BACKEND_STORE_URI', description: 'where it keeps experiments', optional: false },
      defaultValue: 'sqlite:///$(PRIMEHUB_APP_ROOT)/mlflow.db',
    },
  ],
}

export const bodyExample: z.input<typeof templateBody> = { ...shown, template: { spec } }
const summary = { id: 'mlflow', ...shown, createdAt: '2026-01-01T00:00:00.000Z' }
export const detailExample: z.output<typeof templateDetail> = { ...summary, template: { spec } }
export const listExample: z.output<typeof templateList> = { templates: [summary] }
