/** Puts the table of bad input that tests try into docs/dispatch-rest.md. Pure. */
import { type BadContainerInput, badContainerInput } from '../../test/kit/api/dispatch-bad-input.ts'
import { tableOf, withTables } from './tables.ts'

export const dispatchPage = (page: string): string => withTables('dispatch-rest.md', page, tables)

const tables: Readonly<Record<string, () => string>> = {
  'bad-input': () => tableOf(['what is sent', 'what comes back', 'what is left behind'], badContainerInput.map(line)),
}

const line = ({ sent, status, type, loc }: BadContainerInput) => [
  sent,
  `${status} \`${type}\`${loc ? ` at \`${loc.join('.')}\`` : ''}`,
  'nothing',
]
