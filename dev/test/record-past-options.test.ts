import { expect, test } from 'vitest'
import { UsageError } from '../process/program.ts'
import { parseRecordOptions } from './record-past-options.ts'

test('parseRecordOptions takes a name, --again and --tenants', () => {
  expect(parseRecordOptions(['b9f6623'])).toEqual({ name: 'b9f6623', again: false, tenants: false })
  expect(parseRecordOptions(['--again', 'v1-0'])).toEqual({ name: 'v1-0', again: true, tenants: false })
  expect(parseRecordOptions(['v1-0', '--tenants'])).toEqual({ name: 'v1-0', again: false, tenants: true })
})

test('parseRecordOptions refuses no name, two names, an unknown option and an invalid name of a namespace', () => {
  for (const args of [[], ['a', 'b'], ['a', '--force'], ['v1.0'], ['../b'], ['Release'], ['a'.repeat(21)]]) {
    expect(() => parseRecordOptions(args), args.join(' ')).toThrow(UsageError)
  }
})
