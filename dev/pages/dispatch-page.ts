/** Puts tables that are made of the source into pages of dispatch: bad input that tests try, parameters of EC2, and rows. Pure. */
import { z } from 'zod'
import { ec2Parameters } from '../../src/config/dispatch-ec2.ts'
import { dispatchRows } from '../../test/integration/dispatch/seed-rows.ts'
import { type BadContainerInput, badContainerInput } from '../../test/kit/api/dispatch-bad-input.ts'
import { rowsTable, tableOf, withTables } from './tables.ts'

export const dispatchRestPage = (page: string): string =>
  withTables('dispatch-rest.md', page, {
    'bad-input': () => tableOf(['what is sent', 'what comes back', 'what is left behind'], badContainerInput.map(line)),
  })

export const dispatchOperatorsPage = (page: string): string =>
  withTables('dispatch-operators.md', page, { ec2: () => tableOf(['key', 'meaning', 'default'], parameters()) })

export const dispatchRowsPage = (page: string): string =>
  withTables('dispatch-rows.md', page, { rows: () => rowsTable(dispatchRows) })

const line = ({ sent, status, type, loc }: BadContainerInput) => [
  sent,
  `${status} \`${type}\`${loc ? ` at \`${loc.join('.')}\`` : ''}`,
  'nothing',
]

interface Schema {
  readonly properties?: Readonly<Record<string, { readonly description?: string; readonly default?: unknown }>>
  readonly required?: readonly string[]
}

/** Without keys of Arvados that are refused. */
function parameters(): string[][] {
  const { properties = {}, required = [] } = z.toJSONSchema(ec2Parameters, {
    ...{ io: 'input', unrepresentable: 'any' },
  }) as Schema
  return Object.entries(properties).flatMap(([name, { description, default: byDefault }]) => {
    if (!description) return []
    const initially = byDefault === undefined ? '' : `\`${JSON.stringify(byDefault)}\``
    return [[`\`${name}\``, description, required.includes(name) ? 'required' : initially]]
  })
}
