import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { bundle } from './bundle.ts'
import { inputsWithoutSource } from './proof.ts'

test('inputsWithoutSource is empty when the program is bundled with an account', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'proof-'))
  try {
    const file = join(dir, 'bundle.json')
    await bundle({ dir, account: file })
    const account = JSON.parse(await readFile(file, 'utf8'))
    expect(Object.keys(account.inputs)).toContain('used:undici')
    expect(inputsWithoutSource(account)).toEqual([])
  } finally {
    await rm(dir, { recursive: true })
  }
}, 60_000)

test('inputsWithoutSource names inputs from elsewhere', () => {
  const known = ['src/main.ts', 'package.json', 'node_modules/undici/lib/api/index.js', 'used:undici']
  const strange = ['used:hono', 'used:undici/x', 'other:undici', 'srcs/a.ts', 'package.json.ts', '../a.ts']
  const inputs = Object.fromEntries([...known, ...strange].map(input => [input, {}]))
  expect(inputsWithoutSource({ inputs })).toEqual(strange)
})
