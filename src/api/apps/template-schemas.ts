/** Schemas of requests and answers about templates. */
import { z } from '@hono/zod-openapi'
import { component } from '../document/components.ts'
import { named } from '../document/schemas.ts'

const text = (most: number) =>
  z
    .string()
    .max(most)
    .regex(/^[^\x00]*$/, { error: 'must not contain NUL' })
const address = /^(https?:\/\/\S+)?$/
const picture = /^((https?:\/\/|data:image\/)\S+)?$/
const variableName = /^(?!PRIMEHUB_)[A-Za-z_][A-Za-z0-9_]*$/

const texts = {
  name: text(253).min(1).describe('its name for people'),
  description: text(4096).describe('what its apps are'),
  version: text(253).describe('its version'),
  docLink: text(2048).regex(address, { error: 'is no address with http or https' }).describe('a page about its apps'),
  icon: text(65_536)
    .regex(picture, { error: 'is neither an address with http or https, nor data:image' })
    .describe('a picture: an address, or the picture itself as `data:image/…`'),
}

const variable = {
  name: text(253)
    .regex(variableName, { error: 'is not the name of a variable, or is one of the platform’s' })
    .meta({ pattern: '^[A-Za-z_][A-Za-z0-9_]*$' })
    .describe('its name'),
  description: text(4096).describe('what it is for'),
  defaultValue: text(32_000).describe('what people begin with; `***` for a secret one'),
  optional: z.boolean().describe('whether it may be empty'),
}

const appSpec = z.record(z.string(), z.unknown()).meta({ additionalProperties: true })
const ofApp = z.object({
  spec: appSpec.describe(
    '`podTemplate`, `svcTemplate`, `httpPort` and `rewrite` of its PhApplications, as in the cluster; secret values of variables are `***`',
  ),
})

const newVariable = component(
  'TemplateVariable',
  z.strictObject({
    name: variable.name,
    description: variable.description.exactOptional(),
    defaultValue: variable.defaultValue.exactOptional(),
    optional: variable.optional.exactOptional(),
  }),
  'a variable that people fill in',
)

export const templateBody = named(
  'NewTemplate',
  z.strictObject({
    name: texts.name,
    description: texts.description.exactOptional(),
    version: texts.version.exactOptional(),
    docLink: texts.docLink.exactOptional(),
    icon: texts.icon.exactOptional(),
    defaultEnvs: z
      .array(newVariable)
      .max(64)
      .describe('variables that people fill in; they come after those of the container')
      .exactOptional(),
    template: z.strictObject(ofApp.shape).describe('what is made of it'),
  }),
  'input',
)

/** What somebody else wrote may be anything that the cluster accepts. */
const shown = (words: string) => z.string().describe(words)
const shownVariable = component(
  'ShownTemplateVariable',
  z.object({
    name: shown('its name'),
    description: shown('what it is for'),
    defaultValue: shown('what people begin with; `***` if it is secret'),
    optional: variable.optional,
  }),
  'a variable that people fill in',
)
const content = {
  id: shown('its id'),
  name: shown('its name for people'),
  description: shown('what its apps are'),
  version: shown('its version'),
  docLink: shown('a page about its apps; can be empty'),
  icon: shown('a picture, as an address or as `data:image/…`; can be empty'),
  defaultEnvs: z.array(shownVariable).describe('variables that people fill in'),
}
const summary = {
  ...content,
  createdAt: shown('when it was made'),
}

/** As an app has it. */
export const ofTemplate = component(
  'AppTemplate',
  z.object(content),
  'the template that an app was made of, as it was then',
)

export const templateDetail = named('Template', z.object({ ...summary, template: ofApp }))

export const templateList = named(
  'Templates',
  z.object({
    templates: z.array(component('TemplateSummary', z.object(summary), 'a template')).describe('by id'),
    cursor: z.string().describe('for the next page; absent: this is the last one').exactOptional(),
  }),
)
