import { expect, test } from 'vitest'
import { UsageError } from '../process/program.ts'
import { parseRecordOptions } from './record-past-options.ts'

test('parseRecordOptions takes a name, --again, and --tenants or --apps', () => {
  const labs = { again: false, tenants: false, apps: false }
  expect(parseRecordOptions(['b9f6623'])).toEqual({ ...labs, name: 'b9f6623' })
  expect(parseRecordOptions(['--again', 'v1-0'])).toEqual({ ...labs, name: 'v1-0', again: true })
  expect(parseRecordOptions(['v1-0', '--tenants'])).toEqual({ ...labs, name: 'v1-0', tenants: true })
  expect(parseRecordOptions(['v1-0', '--apps'])).toEqual({ ...labs, name: 'v1-0', apps: true })
})

test('parseRecordOptions refuses no name, two names, an unknown option and an invalid name of a namespace', () => {
  for (const args of [
    [],
    ['a', 'b'],
    ['a', '--apps', '--tenants'],
    ['a', '--force'],
    ['v1.0'],
    ['../b'],
    ['Release'],
    ['a'.repeat(21)],
  ]) {
    expect(() => parseRecordOptions(args), args.join(' ')).toThrow(UsageError)
  }
})
