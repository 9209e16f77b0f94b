import { expect, test } from 'vitest'
import config from '../../vitest.config.ts'
import { attackProjects, labAnswered, runsOf, vitestArgs } from './suites.ts'

const projects = (config.test?.projects ?? []) as { test: { name: string; include: string[]; exclude?: string[] } }[]
const of = (name: string) => projects.find(({ test }) => test.name === name)!.test

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
  expect(of('faults').exclude).toEqual(expect.arrayContaining(of('crowd').include))
})

test('attackProjects runs the attacks on idle labs by themselves', () => {
  expect(of('faults').exclude).toEqual(expect.arrayContaining(of('idle-faults').include))
})

test('no project but that of real machines has their tests', () => {
  const [vms] = of('vm').include
  expect(of('integration').exclude).toContain(vms)
  const folder = vms!.slice(0, vms!.lastIndexOf('/'))
  const others = projects.filter(({ test }) => !['vm', 'integration'].includes(test.name))
  expect(others.filter(({ test }) => test.include.some(each => each.startsWith(folder)))).toEqual([])
})

test('an attack runs by itself where a filter names it, and not a second time in a whole run', () => {
  expect(vitestArgs('attack', { filters: [], pattern: '^T24' })).toBeNull()
  expect(vitestArgs('faults', { filters: [], pattern: '^T24' })).toEqual(['-t', '^T24'])
  expect(vitestArgs('attack', { filters: ['term'] })).toEqual(['test/integration/faults/term.attack.ts'])
})

test('runsOf leaves out the attacks that no filter names', () => {
  expect(runsOf(['faults', 'attack'], { filters: [] })).toEqual([{ project: 'faults', args: [] }])
  expect(runsOf(['attack'], { filters: ['term'], pattern: 'T20' })).toEqual([
    { project: 'attack', args: ['-t', 'T20', 'test/integration/faults/term.attack.ts'] },
  ])
})
