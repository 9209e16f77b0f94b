import { expect, test } from 'vitest'
import config from '../../vitest.config.ts'
import { attackProjects, countReport, formatCounts, labAnswered, noTests, sum, vitestArgs } from './suites.ts'

const file = (status: string, ...tests: string[]) => ({
  status,
  assertionResults: tests.map(each => ({ status: each })),
})

test('countReport counts tests over all files', () => {
  const testResults = [file('passed', 'passed', 'passed', 'skipped'), file('failed', 'failed', 'passed', 'todo')]
  expect(countReport({ testResults })).toEqual({ passed: 3, failed: 1, skipped: 2 })
})

test('countReport counts a file with a failed set-up as a failure', () => {
  expect(countReport({ testResults: [file('failed', 'skipped', 'skipped')] })).toEqual({
    ...noTests,
    failed: 1,
    skipped: 2,
  })
  expect(countReport({ testResults: [file('failed')] })).toEqual({ ...noTests, failed: 1 })
})

test('formatCounts sums suites up in one line', () => {
  const all = sum({ passed: 300, failed: 0, skipped: 1 }, { passed: 20, failed: 2, skipped: 0 })
  expect(formatCounts(all)).toBe('320 passed, 2 failed, 1 skipped')
})

test('labAnswered is true when JupyterLab itself answered', () => {
  const line = (lab: unknown) => `${JSON.stringify({ url: 'http://127.0.0.1:1', lab })}\n`
  expect(labAnswered(line({ status: 'running', http: 200 }))).toBe(true)
  expect(labAnswered(line({ status: 'running', http: null }))).toBe(false)
  expect(labAnswered(line({ status: 'failed', http: 200 }))).toBe(false)
  expect(labAnswered(line(null))).toBe(false)
  expect(labAnswered('')).toBe(false)
})

test('attackProjects runs the attack with hundreds of namespaces last on its cluster', () => {
  expect(attackProjects.at(-1)).toBe('crowd')
  const projects = (config.test?.projects ?? []) as { test: { name: string; include: string[]; exclude?: string[] } }[]
  const of = (name: string) => projects.find(({ test }) => test.name === name)!.test
  expect(of('faults').exclude).toEqual(expect.arrayContaining(of('crowd').include))
})

test('an attack runs by itself where a filter names it, and not a second time in a whole run', () => {
  expect(vitestArgs('attack', { filters: [], pattern: '^T24' })).toBeNull()
  expect(vitestArgs('faults', { filters: [], pattern: '^T24' })).toEqual(['-t', '^T24'])
  expect(vitestArgs('attack', { filters: ['term'] })).toEqual(['test/integration/faults/term.attack.ts'])
})
