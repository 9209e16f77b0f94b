/** Bad PhAppTemplates: what is sent, and the very words that come back. For docs/apps-templates.md and for its test. */
import { asObject, type JsonObject } from '../../../src/base/json.ts'
import { seedTemplate } from '../../kit/apps/seed.ts'
import type { BadApp } from './definition.cases.ts'

const bad = (sent: string, spec: JsonObject, words: string, name?: string): BadApp => ({
  ...{ sent, words },
  body: () => {
    const template = seedTemplate()
    const metadata = { ...template.metadata, ...(name !== undefined && { name }) }
    return { ...template, metadata, spec: { ...asObject(template.spec), ...spec } }
  },
})

const made = (container: JsonObject, more: JsonObject = {}): JsonObject => ({
  template: {
    spec: {
      podTemplate: { spec: { containers: [{ name: 'a', image: 'i:1', ...container }] } },
      svcTemplate: { spec: { ports: [{ port: 80 }] } },
      ...more,
    },
  },
})
const nameWords =
  'metadata.name is the id of the template: at most 63 of a-z, 0-9 and -, beginning and ending with a letter or a digit; dots are not allowed'
const platformWords = 'names of variables must not begin with PRIMEHUB_: the platform sets these'

export const badTemplates: readonly BadApp[] = [
  bad('a name of 64 characters', {}, nameWords, 'a'.repeat(64)),
  bad('a name with a dot', {}, nameWords, 'a.b'),
  bad('no `spec.name`', { name: undefined }, 'spec.name: Required value'),
  bad('no `spec.template`', { template: undefined }, 'spec.template: Required value'),
  bad('a script as docLink', { docLink: 'javascript:alert(1)' }, 'docLink must be an address with http or https'),
  bad('a script as icon', { icon: 'javascript:alert(1)' }, 'icon must be an address with http or https, or data:image'),
  bad('a page as icon', { icon: 'data:text/html,x' }, 'icon must be an address with http or https, or data:image'),
  bad('an icon of 65537 characters', { icon: `data:image/png,${'x'.repeat(65_522)}` }, 'may not be more than 65536'),
  bad(
    '65 variables',
    { defaultEnvs: Array.from({ length: 65 }, (_, i) => ({ name: `A${i}` })) },
    'must have at most 64',
  ),
  bad('a variable twice', { defaultEnvs: [{ name: 'A' }, { name: 'A' }] }, 'Duplicate value'),
  bad('a variable `A-B`', { defaultEnvs: [{ name: 'A-B' }] }, 'should match'),
  bad('a variable PRIMEHUB_URL', { defaultEnvs: [{ name: 'PRIMEHUB_URL' }] }, platformWords),
  bad('a variable PRIMEHUB_URL of the container', made({ env: [{ name: 'PRIMEHUB_URL', value: 'x' }] }), platformWords),
  bad('a privileged container', made({ securityContext: { privileged: true } }), 'must not be privileged'),
  bad('an httpPort that is no port', made({}, { httpPort: 81 }), 'httpPort must be one of the TCP ports'),
]
