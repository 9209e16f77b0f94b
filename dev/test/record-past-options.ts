/** The command line of `npm run record-past`. */
import { parseArgs } from 'node:util'
import { UsageError } from '../process/program.ts'

export const usage = `usage: npm run record-past -- NAME [--tenants | --apps] [--again]

  NAME                of the release or its commit: a folder of test/integration/past
  --tenants           records tenants instead: a file of test/integration/past-tenants
  --apps              records apps instead: a file of test/integration/past-apps
  --again             replaces what is there already
`

export interface RecordOptions {
  readonly name: string
  readonly again: boolean
  readonly tenants: boolean
  readonly apps: boolean
}

/** @throws {UsageError} */
export function parseRecordOptions(args: readonly string[]): RecordOptions {
  const { positionals, again, tenants, apps } = read(args)
  const [name, ...others] = positionals
  if (name === undefined || others.length > 0) throw new UsageError('one name is needed')
  // The name becomes part of the namespaces' names.
  if (!/^[a-z0-9]([-a-z0-9]{0,18}[a-z0-9])?$/.test(name)) {
    throw new UsageError(`NAME: at most 20 lower-case letters, digits and hyphens, not ${name}`)
  }
  if (tenants && apps) throw new UsageError('--tenants or --apps, not both')
  return { name, again, tenants, apps }
}

function read(args: readonly string[]): Omit<RecordOptions, 'name'> & { readonly positionals: readonly string[] } {
  try {
    const flag = { type: 'boolean', default: false } as const
    const options = { again: flag, tenants: flag, apps: flag }
    const { positionals, values } = parseArgs({ args: [...args], allowPositionals: true, options })
    return { positionals, ...values }
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}
