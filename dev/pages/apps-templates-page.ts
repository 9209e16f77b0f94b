/** Puts the table of bad input that a test sends into docs/apps-templates.md. Pure. */
import { badTemplates } from '../../test/integration/apps/template-definition.cases.ts'
import { tableOf, withTables } from './tables.ts'

export const appsTemplatesPage = (page: string): string =>
  withTables('apps-templates.md', page, {
    'bad-input': () =>
      tableOf(
        ['what is sent', 'what comes back'],
        badTemplates.map(({ sent, words }) => [sent, `422: ${words}`]),
      ),
  })
