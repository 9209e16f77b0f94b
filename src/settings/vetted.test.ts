import { expect, test } from 'vitest'
import { readVetted } from './vetted.ts'

const state = { kubernetes: '1.37', resources: {}, roles: {} }
const whole = { ...state, roles: Object.fromEntries(names().map(name => [name, { from: [], rights: {} }])) }
function names() {
  return ['admin', 'edit', 'view', 'skylab:authenticated']
}

async function read(texts: readonly (string | undefined)[], run: string[] = ['tenants']) {
  const problems: string[] = []
  const files = texts.map((_, index) => `${index}`)
  const config = { run, tenants: { vetting: { files } } } as never
  const reader = { text: async (_: string, path: string | undefined) => texts[Number(path)] }
  return { states: await readVetted(config, reader, problems), problems }
}

test('readVetted reads what skylab vet wrote', async () => {
  expect(await read([JSON.stringify(whole)])).toEqual({ states: [whole], problems: [] })
})

test.each([
  ['', 'is not JSON'],
  ['{', 'is not JSON'],
  ['null', 'is not a state that `skylab vet --write` made'],
  [JSON.stringify({ ...whole, more: 1 }), 'is not a state that `skylab vet --write` made'],
  [JSON.stringify({ ...whole, kubernetes: 'v1.37.0' }), 'is not a state that `skylab vet --write` made'],
  [
    JSON.stringify({ ...whole, roles: { root: { from: [], rights: {} } } }),
    'is not a state that `skylab vet --write` made',
  ],
])('readVetted refuses %j', async (text, words) => {
  expect(await read([text])).toEqual({ states: [], problems: [`tenants.vetting.files.0: ${words}`] })
})

test('readVetted refuses two states of one version', async () => {
  const text = JSON.stringify(whole)
  expect((await read([text, text])).problems).toEqual(['tenants.vetting.files.1: is one more for Kubernetes 1.37'])
})

test('readVetted reads nothing for another process', async () => {
  expect(await read(['{'], ['labs'])).toEqual({ states: [], problems: [] })
})
